// Appended to a view: acts as a reader does, and leaves the results in the page.
window.addEventListener("error", event => document.body.setAttribute("data-fault", event.message));
const wait = () => new Promise(done => setTimeout(done, 50));
(async () => {
  const seen = {}, by = id => document.getElementById(id), figure = by("figure");
  const over = () => document.querySelector(".u-over"), box = () => over().getBoundingClientRect();
  const mouse = (kind, share, target = over()) => target.dispatchEvent(new MouseEvent(kind, {
    clientX: box().left + share * box().width, clientY: box().top + 20, button: 0, movementX: 5, bubbles: true }));
  const key = name => figure.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true }));
  const entries = () => [...document.querySelectorAll("th[role=checkbox]")];
  const lines = () => entries().filter(entry => entry.getAttribute("aria-checked") === "true").length;
  await wait();
  seen.first = by("range").textContent;
  seen.charts = document.querySelectorAll(".uplot canvas").length;
  mouse("mouseenter", 0.5); mouse("mousemove", 0.5); await wait();
  seen.values = [...document.querySelectorAll(".u-series:not(:first-child) .u-value")].map(e => e.textContent).filter(t => t && t !== "--").length;
  mouse("mousemove", 0.25); mouse("mousedown", 0.25); mouse("mousemove", 0.5, document); mouse("mousemove", 0.5); mouse("mouseup", 0.5, document); await wait();
  seen.dragged = [by("from").value, by("to").value].map(Number);
  key("ArrowRight"); seen.said = by("said").textContent;
  key("+"); seen.nearer = Number(by("to").value) - Number(by("from").value);
  key("0"); seen.whole = by("range").textContent;
  const drops = [...document.querySelectorAll(".u-over")].find(o => o.closest("section").querySelector("h3").textContent === "packets dropped");
  const press = share => ["mousedown", "mouseup", "click"].forEach(kind => drops.dispatchEvent(new MouseEvent(kind, {
    clientX: drops.getBoundingClientRect().left + share * drops.clientWidth, clientY: drops.getBoundingClientRect().top + 8, button: 0, bubbles: true })));
  const reason = () => by("why").hidden ? null : by("why").querySelector("pre").textContent, explained = JSON.parse(by("data").textContent).why;
  await wait();
  seen.closed = reason();
  press(explained[0].t / 4); seen.why = reason();
  key("Enter"); seen.next = reason();
  key("Escape"); seen.escaped = reason();
  seen.lines = lines();
  entries()[0].dispatchEvent(new MouseEvent("click", { bubbles: true })); await wait();
  seen.hidden = lines();
  entries()[0].dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true })); await wait();
  seen.back = lines();
  document.querySelector("input[data-who]").click(); await wait();
  seen.owner = lines();
  window.dispatchEvent(new Event("beforeprint")); await wait();
  seen.paper = document.querySelector(".uplot canvas").style.width || getComputedStyle(document.querySelector(".uplot canvas")).width;
  seen.sharp = document.querySelector(".uplot canvas").width;
  seen.still = lines();
  window.dispatchEvent(new Event("afterprint"));
  document.body.setAttribute("data-seen", JSON.stringify(seen));
})().catch(fault => document.body.setAttribute("data-fault", String(fault)));
