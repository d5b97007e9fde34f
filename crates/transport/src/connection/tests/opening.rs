use super::*;
fn dump(name: &str, profile: &Profile, script: &str, one: bool) {
    let mut w = if one { Wire::one_way(profile) } else { Wire::new(profile) };
    w.run(script);
    println!("=== {name}\n{}\n{:?} over {}", w.trace.join("\n"), w.states(), w.connection.is_over());
}
#[test]
fn dumps() {

    let w = |n: u64| Profile { max_window: n, ..hundred() };
    let wr = |w: &mut Wire, end| { w.connection.pace(end, &w.profile.clone()); };
    let mut d = |name: &str, p: &Profile, script: &str| {
        let mut x = Wire::new(p);
        wr(&mut x, End::Server);
        x.run(&s2(script));
        println!("=== {name}\n{}\n{:?} over {}", x.trace.iter().filter(|l| !l.contains("opened")).cloned().collect::<Vec<_>>().join("\n"), x.states(), x.connection.is_over());
    };
    fn s2(t: &str) -> String { let (a,b) = if let Some(i)=t.find("|") {(&t[..i],&t[i+1..])} else {("",t)}; format!("{a}\n0 client open\n{b}") }
    d("fills, reader reads", &w(400), "30 client write 1000\n100 server read 99\n200 server read 1\n300 server read 150\n400 server read 50\n500 server read 2000\n600 server read 3000\n700 server read 1000\n1600 client close\n2000 server close\n2500 server read 1000");
    d("lost update", &w(400), "lose 10 11 12 13|30 client write 1000\n100 server read 400\n");
    d("lost update linux probe", &Profile { zero_window_probe: crate::profile::WindowProbe::Empty, ..w(400) }, "lose 10 11|30 client write 1000\n100 server read 400\n");
    d("lost update nosack", &Profile { sack: false, loss_detection: crate::profile::LossDetection::DuplicateAcks, ..w(400) }, "lose 10|30 client write 1000\n5000 server read 400\n");
    d("shrinks", &w(400), "window 8 1|30 client write 1000\n5000 server read 400\n");
    d("fin in zero window", &w(400), "30 client write 400\n50 client close\n5000 server read 400\n5500 server close");
    d("lone byte sws", &w(450), "30 client write 1000\n5000 server read 400\n");
}
