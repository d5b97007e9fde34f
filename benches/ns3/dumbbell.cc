// The comparison scenario on ns-3.37: a one-sided dumbbell, users -> own access link -> edge -> bottleneck -> server.
//
// It prints one JSON line with the field names of an Evenflow record. Everything counts in frames (payload, TCP or UDP,
// IP and PPP headers), waiting packets exclude the one in transmission, and rates of a group are means over its users.
//
// The defaults are as near to the profile `ns3.26` as 3.37 allows: no SACK, initial window 1, classic NewReno recovery
// instead of PRR, 128 KiB buffers, segments of 1446 bytes (frames of 1500), RTO >= 1 s. `rfc` is asked for by its lines:
// sack=true recovery=TcpPrrRecovery initialWindow=10.
//
// There is no traffic-control layer: devices are built by hand, without the flow-control interface that would install
// one. RED is 3.37's RedQueueDisc inside the bottleneck's device, so that nothing waits behind it uncounted: with the
// usual set-up the device holds one more packet, which RED does not see.

#include <ns3/applications-module.h>
#include <ns3/core-module.h>
#include <ns3/internet-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-module.h>
#include <ns3/traffic-control-module.h>

#include <ctime>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

constexpr uint32_t FIRST_ADDRESS = 0x0a000000; // 10.0.0.0, four addresses a link
constexpr uint16_t FIRST_PORT = 1000;
constexpr uint32_t UDP_PAYLOAD = 1470; // + 8 UDP + 20 IP + 2 PPP = 1500

double
CpuSeconds()
{
    return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

/// The peak resident memory of this process, or "null" where the system does not tell.
std::string
PeakBytes()
{
    std::ifstream status("/proc/self/status");
    for (std::string key; status >> key;)
    {
        if (uint64_t kib = 0; key == "VmHWM:" && status >> kib)
        {
            return std::to_string(1024 * kib);
        }
    }
    return "null";
}

/// A host's device that keeps each packet for a random time before sending it, in order.
class ProcessingDevice : public PointToPointNetDevice
{
  public:
    void SetProcessing(double most, int64_t stream)
    {
        m_time = CreateObject<UniformRandomVariable>();
        m_time->SetAttribute("Max", DoubleValue(most));
        m_time->SetStream(stream);
    }

    bool Send(Ptr<Packet> packet, const Address& dest, uint16_t protocol) override
    {
        if (!m_time)
        {
            return PointToPointNetDevice::Send(packet, dest, protocol);
        }
        m_ready = Max(m_ready, Simulator::Now() + Seconds(m_time->GetValue()));
        Simulator::Schedule(m_ready - Simulator::Now(), &ProcessingDevice::Forward, this, packet, dest, protocol);
        return true;
    }

  private:
    void Forward(Ptr<Packet> packet, const Address& dest, uint16_t protocol)
    {
        PointToPointNetDevice::Send(packet, dest, protocol);
    }

    Ptr<UniformRandomVariable> m_time;
    Time m_ready;
};

/// A packet with its IP header, as a queue discipline wants it.
class FrameItem : public QueueDiscItem
{
  public:
    using QueueDiscItem::QueueDiscItem;

    void AddHeader() override
    {
    }

    /// Congestion experienced, if the packet is ECN-capable (RFC 3168 section 5).
    bool Mark() override
    {
        Ipv4Header ip;
        GetPacket()->PeekHeader(ip);
        if (ip.GetEcn() == Ipv4Header::ECN_NotECT)
        {
            return false;
        }
        GetPacket()->RemoveHeader(ip);
        ip.SetEcn(Ipv4Header::ECN_CE);
        GetPacket()->AddHeader(ip);
        return true;
    }
};

/// A device whose waiting packets are those of a queue discipline.
class DisciplinedDevice : public PointToPointNetDevice
{
  public:
    void SetDiscipline(Ptr<QueueDisc> discipline)
    {
        m_discipline = discipline;
        m_discipline->Initialize();
        TraceConnectWithoutContext("PhyTxEnd", MakeCallback(&DisciplinedDevice::Sent, this));
    }

    bool Send(Ptr<Packet> packet, const Address& dest, uint16_t protocol) override
    {
        const bool kept = m_discipline->Enqueue(Create<FrameItem>(packet, dest, protocol));
        if (!m_busy)
        {
            Next();
        }
        return kept;
    }

  private:
    void Next()
    {
        const auto item = m_discipline->Dequeue();
        m_busy = static_cast<bool>(item);
        if (m_busy)
        {
            PointToPointNetDevice::Send(item->GetPacket(), item->GetAddress(), item->GetProtocol());
        }
    }

    void Sent(Ptr<const Packet>)
    {
        // Not at once: the device has still to forget the packet that it has just sent.
        Simulator::ScheduleNow(&DisciplinedDevice::Next, this);
    }

    Ptr<QueueDisc> m_discipline;
    bool m_busy = false;
};

/// Datagrams of one size with exponential gaps; the rate counts whole frames.
class PoissonSource
{
  public:
    PoissonSource(Ptr<Node> node, const Address& server, double rate, Time start, int64_t stream)
        : m_socket(Socket::CreateSocket(node, UdpSocketFactory::GetTypeId())),
          m_gap(CreateObject<ExponentialRandomVariable>())
    {
        m_gap->SetAttribute("Mean", DoubleValue(8.0 * 1500 / rate));
        m_gap->SetStream(stream);
        m_socket->Bind();
        m_socket->Connect(server);
        Simulator::Schedule(start, &PoissonSource::Next, this);
    }

  private:
    void Send()
    {
        m_socket->Send(Create<Packet>(UDP_PAYLOAD));
        Next();
    }

    void Next()
    {
        Simulator::Schedule(Seconds(m_gap->GetValue()), &PoissonSource::Send, this);
    }

    Ptr<Socket> m_socket;
    Ptr<ExponentialRandomVariable> m_gap;
};

/// Everything counted at the bottleneck, in the window that begins with Reset().
class Monitor
{
  public:
    void Reset(const std::vector<Ptr<PacketSink>>& sinks)
    {
        Integrate();
        m_area = 0;
        m_departures = m_departed_bytes = m_drops = m_marks = m_arrivals = 0;
        std::fill(m_user_bytes.begin(), m_user_bytes.end(), 0);
        m_sink_start.clear();
        for (const auto& sink : sinks)
        {
            m_sink_start.push_back(sink->GetTotalRx());
        }
    }

    void Watch(Ptr<Queue<Packet>> queue)
    {
        queue->TraceConnectWithoutContext("PacketsInQueue", MakeCallback(&Monitor::Length, this));
        queue->TraceConnectWithoutContext("Dequeue", MakeCallback(&Monitor::Dequeue, this));
        queue->TraceConnectWithoutContext("Drop", MakeCallback(&Monitor::Drop, this));
    }

    void Watch(Ptr<QueueDisc> discipline)
    {
        discipline->TraceConnectWithoutContext("PacketsInQueue", MakeCallback(&Monitor::Length, this));
        discipline->TraceConnectWithoutContext("Dequeue", MakeCallback(&Monitor::DequeueItem, this));
        discipline->TraceConnectWithoutContext("Drop", MakeCallback(&Monitor::DropItem, this));
        discipline->TraceConnectWithoutContext("Mark", MakeCallback(&Monitor::MarkItem, this));
    }

    /// Frames that reach the server, by user; costs a header copy per packet, so not for timing.
    void WatchUsers(Ptr<NetDevice> server, size_t users)
    {
        m_user_bytes.assign(users, 0);
        server->TraceConnectWithoutContext("PhyRxEnd", MakeCallback(&Monitor::Received, this));
    }

    double Area()
    {
        Integrate();
        return m_area;
    }

    uint64_t m_departures = 0;
    uint64_t m_departed_bytes = 0;
    uint64_t m_drops = 0;
    uint64_t m_marks = 0;
    uint64_t m_arrivals = 0;
    std::vector<uint64_t> m_user_bytes;
    std::vector<uint64_t> m_sink_start;
    uint32_t m_length = 0;

  private:
    void Integrate()
    {
        const double now = Simulator::Now().GetSeconds();
        m_area += m_length * (now - m_since);
        m_since = now;
    }

    void Length(uint32_t, uint32_t length)
    {
        Integrate();
        m_length = length;
    }

    void Dequeue(Ptr<const Packet> packet)
    {
        ++m_departures;
        ++m_arrivals;
        m_departed_bytes += packet->GetSize();
    }

    void Drop(Ptr<const Packet>)
    {
        ++m_drops;
        ++m_arrivals;
    }

    void DequeueItem(Ptr<const QueueDiscItem> item)
    {
        ++m_departures;
        ++m_arrivals;
        m_departed_bytes += item->GetSize() + 2; // PPP
    }

    void DropItem(Ptr<const QueueDiscItem>)
    {
        ++m_drops;
        ++m_arrivals;
    }

    void MarkItem(Ptr<const QueueDiscItem>, const char*)
    {
        ++m_marks;
    }

    void Received(Ptr<const Packet> frame)
    {
        auto packet = frame->Copy();
        PppHeader ppp;
        Ipv4Header ip;
        packet->RemoveHeader(ppp);
        packet->PeekHeader(ip);
        const uint32_t user = (ip.GetSource().Get() - FIRST_ADDRESS) / 4;
        if (user < m_user_bytes.size())
        {
            m_user_bytes[user] += frame->GetSize();
        }
    }

    double m_area = 0;
    double m_since = 0;
};

/// The window of one sender in segments, as last announced by its socket.
struct Window
{
    Ptr<BulkSendApplication> sender;
    uint32_t segment;
    bool watched = false;
    uint32_t bytes = 0;

    void Changed(uint32_t, uint32_t now)
    {
        bytes = now;
    }
};

/// Windows of some senders and the waiting packets, at equal intervals from zero on.
class Recorder
{
  public:
    Recorder(const Monitor& monitor, Time every)
        : m_monitor(monitor),
          m_every(every)
    {
    }

    void Add(Ptr<BulkSendApplication> sender, uint32_t segment)
    {
        m_windows.push_back(std::make_unique<Window>(Window{sender, segment}));
        m_series.emplace_back();
    }

    void Sample()
    {
        for (size_t i = 0; i < m_windows.size(); ++i)
        {
            auto& window = *m_windows[i];
            if (!window.watched && window.sender->GetSocket())
            {
                window.watched = window.sender->GetSocket()->TraceConnectWithoutContext(
                    "CongestionWindow",
                    MakeCallback(&Window::Changed, &window));
            }
            m_series[i].push_back(static_cast<double>(window.bytes) / window.segment);
        }
        m_queue.push_back(m_monitor.m_length);
        Simulator::Schedule(m_every, &Recorder::Sample, this);
    }

    std::string Json() const
    {
        std::ostringstream out;
        out << "{\"every_s\": " << m_every.GetSeconds() << ", \"queue\": ";
        List(out, m_queue);
        out << ", \"windows\": [";
        for (size_t i = 0; i < m_series.size(); ++i)
        {
            out << (i > 0 ? ", " : "");
            List(out, m_series[i]);
        }
        out << "]}";
        return out.str();
    }

  private:
    template <typename T>
    static void List(std::ostream& out, const std::vector<T>& values)
    {
        out << "[";
        for (size_t i = 0; i < values.size(); ++i)
        {
            out << (i > 0 ? ", " : "") << values[i];
        }
        out << "]";
    }

    const Monitor& m_monitor;
    Time m_every;
    std::vector<std::unique_ptr<Window>> m_windows;
    std::vector<std::vector<double>> m_series;
    std::vector<uint32_t> m_queue;
};

struct Link
{
    std::string rate;
    Time delay;
    uint32_t limit;
};

/// Both ends of a full-duplex link; only the first end, of the given kind, has a limited queue.
template <typename Near>
std::pair<Ptr<Near>, Ptr<PointToPointNetDevice>>
Connect(Ptr<Node> from, Ptr<Node> to, const Link& link)
{
    auto near = CreateObject<Near>();
    auto far = CreateObject<PointToPointNetDevice>();
    auto channel = CreateObject<PointToPointChannel>();
    channel->SetAttribute("Delay", TimeValue(link.delay));
    const std::vector<std::pair<Ptr<PointToPointNetDevice>, uint32_t>> ends = {{near, link.limit}, {far, 1000000}};
    for (const auto& [device, limit] : ends)
    {
        auto queue = CreateObject<DropTailQueue<Packet>>();
        queue->SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, limit));
        device->SetQueue(queue);
        device->SetAddress(Mac48Address::Allocate());
        device->SetDataRate(DataRate(link.rate));
    }
    from->AddDevice(near);
    to->AddDevice(far);
    near->Attach(channel);
    far->Attach(channel);
    return {near, far};
}

Ipv4Address
Address_(uint32_t link, uint32_t end)
{
    return Ipv4Address(FIRST_ADDRESS + 4 * link + 1 + end);
}

uint32_t
AddInterface(Ptr<Node> node, Ptr<NetDevice> device, Ipv4Address address)
{
    auto ip = node->GetObject<Ipv4>();
    const uint32_t index = ip->AddInterface(device);
    ip->AddAddress(index, Ipv4InterfaceAddress(address, Ipv4Mask("255.255.255.252")));
    ip->SetUp(index);
    return index;
}

void
AddDefaultRoute(Ptr<Node> node, Ipv4Address via, uint32_t interface)
{
    Ipv4StaticRoutingHelper().GetStaticRouting(node->GetObject<Ipv4>())->SetDefaultRoute(via, interface);
}

struct Group
{
    std::string name;
    uint32_t users;
    uint32_t flows; // a user
    double rate;    // of a Poisson user in bit/s; 0: bulk TCP
    std::string control; // empty: NewReno
};

/// ns-3's classes of congestion controls.
const std::map<std::string, std::string> CONTROLS = {
    {"cubic", "ns3::TcpCubic"},
    {"vegas", "ns3::TcpVegas"},
    {"illinois", "ns3::TcpIllinois"},
    {"ledbat", "ns3::TcpLedbat"},
    {"dctcp", "ns3::TcpDctcp"},
};

/// "heavy:1:8,light:1:1" (name, users, TCP flows a user), "new:1:8:cubic" with its congestion control, or
/// "zero:1:poisson:1e7" (name, users, rate in bit/s).
std::vector<Group>
ParseGroups(const std::string& text)
{
    std::vector<Group> groups;
    std::istringstream list(text);
    for (std::string item; std::getline(list, item, ',');)
    {
        std::istringstream fields(item);
        std::vector<std::string> field;
        for (std::string f; std::getline(fields, f, ':');)
        {
            field.push_back(f);
        }
        if (field.size() == 4 && field[2] == "poisson")
        {
            groups.push_back({field[0], static_cast<uint32_t>(std::stoul(field[1])), 1, std::stod(field[3]), ""});
        }
        else if (field.size() == 3 || (field.size() == 4 && CONTROLS.count(field[3]) > 0))
        {
            groups.push_back({field[0],
                              static_cast<uint32_t>(std::stoul(field[1])),
                              static_cast<uint32_t>(std::stoul(field[2])),
                              0.0,
                              field.size() == 4 ? field[3] : ""});
        }
        else
        {
            NS_FATAL_ERROR("groups: expected name:users:flows[:control] or name:users:poisson:rate, got " << item);
        }
    }
    return groups;
}

} // namespace

int
main(int argc, char* argv[])
{
    std::string group_text = "heavy:1:8,light:1:1";
    Link access{"100Mbps", MicroSeconds(100), 50};
    Link bottleneck{"10Mbps", MilliSeconds(5), 24};
    double duration = 200;
    double warmup = 100;
    double start_max = 15;
    double processing = 0;
    uint32_t run = 1;
    uint32_t ack_every = 2;
    uint32_t buffer = 131072;
    uint32_t send_size = 512;
    bool sack = false;
    uint32_t initial_window = 1;
    bool ecn = false;
    bool hystart = true;
    std::string red;
    double loss = 0;
    double every = 0;
    bool users_detail = true;
    std::string recovery = "TcpClassicRecovery";
    std::string scheduler = "ns3::MapScheduler";
    std::string ledbat_target;

    CommandLine cmd(__FILE__);
    cmd.AddValue("groups", "name:users:flows[:control] or name:users:poisson:rate, comma separated", group_text);
    cmd.AddValue("accessRate", "rate of each access link", access.rate);
    cmd.AddValue("accessDelay", "delay of each access link", access.delay);
    cmd.AddValue("accessLimit", "waiting packets on an access link", access.limit);
    cmd.AddValue("rate", "rate of the bottleneck", bottleneck.rate);
    cmd.AddValue("delay", "delay of the bottleneck", bottleneck.delay);
    cmd.AddValue("limit", "waiting packets at the bottleneck", bottleneck.limit);
    cmd.AddValue("duration", "end of the run in s", duration);
    cmd.AddValue("warmup", "begin of the measurement in s", warmup);
    cmd.AddValue("startMax", "flows start uniformly in [0, startMax] s", start_max);
    cmd.AddValue("processing", "hosts keep each packet for U(0, processing) s", processing);
    cmd.AddValue("run", "number of the replication", run);
    cmd.AddValue("ackEvery", "segments an acknowledgement", ack_every);
    cmd.AddValue("buffer", "send and receive buffer in bytes", buffer);
    cmd.AddValue("sendSize", "bytes the application writes at a time", send_size);
    cmd.AddValue("sack", "selective acknowledgements", sack);
    cmd.AddValue("initialWindow", "segments", initial_window);
    cmd.AddValue("ecn", "ECN-capable connections, and RED marks them", ecn);
    cmd.AddValue("hystart", "CUBIC leaves slow start by HyStart", hystart);
    cmd.AddValue("red", "min:max:max_p:weight, thresholds in packets, at the bottleneck; none: drop-tail", red);
    cmd.AddValue("loss", "probability of a random loss at the far end of the bottleneck", loss);
    cmd.AddValue("every", "seconds between samples of the windows and the queue; 0: none", every);
    cmd.AddValue("recovery", "TcpClassicRecovery or TcpPrrRecovery", recovery);
    cmd.AddValue("users", "count frames by user", users_detail);
    cmd.AddValue("scheduler", "event queue", scheduler);
    cmd.AddValue("ledbatTarget", "LEDBAT's target; empty: ns-3's own", ledbat_target);
    cmd.Parse(argc, argv);

    RngSeedManager::SetSeed(1);
    RngSeedManager::SetRun(run);
    Simulator::SetScheduler(ObjectFactory(scheduler));
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpNewReno::GetTypeId()));
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType", TypeIdValue(TypeId::LookupByName("ns3::" + recovery)));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(sack));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(Seconds(1)));
    Config::SetDefault("ns3::TcpSocketBase::UseEcn", EnumValue(ecn ? TcpSocketState::On : TcpSocketState::Off));
    Config::SetDefault("ns3::TcpCubic::HyStart", BooleanValue(hystart));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(initial_window));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1446));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(buffer));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(buffer));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(ack_every));
    Config::SetDefault("ns3::BulkSendApplication::SendSize", UintegerValue(send_size));
    if (!ledbat_target.empty())
    {
        Config::SetDefault("ns3::TcpLedbat::TargetDelay", TimeValue(Time(ledbat_target)));
    }

    const auto groups = ParseGroups(group_text);
    uint32_t users = 0;
    for (const auto& group : groups)
    {
        users += group.users;
    }

    NodeContainer hosts(users);
    NodeContainer routers(2);
    const auto edge = routers.Get(0);
    const auto server = routers.Get(1);
    InternetStackHelper internet;
    internet.SetIpv6StackInstall(false);
    internet.SetRoutingHelper(Ipv4StaticRoutingHelper());
    internet.Install(hosts);
    internet.Install(routers);

    // Links 0 .. users - 1 are the access links, so that a source address names its user.
    for (uint32_t u = 0; u < users; ++u)
    {
        const auto [near, far] = Connect<ProcessingDevice>(hosts.Get(u), edge, access);
        if (processing > 0)
        {
            near->SetProcessing(processing, 1000000 + u);
        }
        const uint32_t interface = AddInterface(hosts.Get(u), near, Address_(u, 0));
        AddInterface(edge, far, Address_(u, 1));
        AddDefaultRoute(hosts.Get(u), Address_(u, 1), interface);
    }
    Ptr<PointToPointNetDevice> near;
    Ptr<PointToPointNetDevice> far;
    Monitor monitor;
    if (red.empty())
    {
        std::tie(near, far) = Connect<PointToPointNetDevice>(edge, server, bottleneck);
        monitor.Watch(near->GetQueue());
    }
    else
    {
        double least = 0;
        double most = 0;
        double probability = 0;
        double weight = 0;
        char colon = ':';
        if (!(std::istringstream(red) >> least >> colon >> most >> colon >> probability >> colon >> weight))
        {
            NS_FATAL_ERROR("red: expected min:max:max_p:weight, got " << red);
        }
        auto discipline = CreateObject<RedQueueDisc>();
        discipline->SetAttribute("MaxSize", QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, bottleneck.limit)));
        discipline->SetAttribute("MinTh", DoubleValue(least));
        discipline->SetAttribute("MaxTh", DoubleValue(most));
        discipline->SetAttribute("LInterm", DoubleValue(1 / probability));
        discipline->SetAttribute("QW", DoubleValue(weight));
        discipline->SetAttribute("MeanPktSize", UintegerValue(1500));
        discipline->SetAttribute("LinkBandwidth", DataRateValue(DataRate(bottleneck.rate)));
        discipline->SetAttribute("LinkDelay", TimeValue(bottleneck.delay));
        discipline->SetAttribute("UseEcn", BooleanValue(ecn));
        discipline->AssignStreams(3000000);
        Ptr<DisciplinedDevice> device;
        std::tie(device, far) = Connect<DisciplinedDevice>(edge, server, bottleneck);
        device->SetDiscipline(discipline);
        monitor.Watch(Ptr<QueueDisc>(discipline));
        near = device;
    }
    if (loss > 0)
    {
        auto error = CreateObject<RateErrorModel>();
        error->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
        error->SetRate(loss);
        error->AssignStreams(4000000);
        far->SetReceiveErrorModel(error);
    }
    const uint32_t down = AddInterface(edge, near, Address_(users, 0));
    const uint32_t back = AddInterface(server, far, Address_(users, 1));
    AddDefaultRoute(edge, Address_(users, 1), down);
    AddDefaultRoute(server, Address_(users, 0), back);

    auto start = CreateObject<UniformRandomVariable>();
    start->SetAttribute("Max", DoubleValue(start_max));
    start->SetStream(0);
    Recorder recorder(monitor, Seconds(every));
    std::vector<Ptr<PacketSink>> sinks;
    std::vector<std::unique_ptr<PoissonSource>> sources;
    uint32_t user = 0;
    for (const auto& group : groups)
    {
        for (uint32_t i = 0; i < group.users; ++i, ++user)
        {
            if (!group.control.empty())
            {
                const TypeIdValue control(TypeId::LookupByName(CONTROLS.at(group.control)));
                hosts.Get(user)->GetObject<TcpL4Protocol>()->SetAttribute("SocketType", control);
                if (group.control == "dctcp")
                {
                    // The receiver's own control decides how marks are echoed.
                    server->GetObject<TcpL4Protocol>()->SetAttribute("SocketType", control);
                }
            }
            for (uint32_t f = 0; f < group.flows; ++f)
            {
                const auto port = static_cast<uint16_t>(FIRST_PORT + sinks.size());
                const InetSocketAddress to(Address_(users, 1), port);
                const bool udp = group.rate > 0;
                const std::string factory = udp ? "ns3::UdpSocketFactory" : "ns3::TcpSocketFactory";
                const Time begin = Seconds(start->GetValue());
                auto sink = PacketSinkHelper(factory, to).Install(server);
                sink.Start(Seconds(0));
                sinks.push_back(DynamicCast<PacketSink>(sink.Get(0)));
                if (udp)
                {
                    sources.push_back(
                        std::make_unique<PoissonSource>(hosts.Get(user), to, group.rate, begin, 2000000 + user));
                }
                else
                {
                    auto sender = BulkSendHelper(factory, to).Install(hosts.Get(user));
                    sender.Start(begin);
                    if (i == 0 && f == 0)
                    {
                        recorder.Add(DynamicCast<BulkSendApplication>(sender.Get(0)), 1446);
                    }
                }
            }
        }
    }

    if (users_detail)
    {
        monitor.WatchUsers(far, users);
    }
    Simulator::Schedule(Seconds(warmup), &Monitor::Reset, &monitor, sinks);
    if (every > 0)
    {
        Simulator::ScheduleNow(&Recorder::Sample, &recorder);
    }
    Simulator::Stop(Seconds(duration));
    const double setup_cpu = CpuSeconds();
    Simulator::Run();
    const double run_cpu = CpuSeconds() - setup_cpu;

    const double window = duration - warmup;
    const double area = monitor.Area();
    const double departures = static_cast<double>(monitor.m_departures);
    std::ostringstream out;
    out << std::setprecision(12);
    out << "{\"simulator\": \"" SIMULATOR "\", \"seed\": " << run << ", \"window_s\": [" << warmup << ", " << duration
        << "], \"events\": " << Simulator::GetEventCount() << ", \"setup_cpu_s\": " << setup_cpu
        << ", \"run_cpu_s\": " << run_cpu << ", \"peak_bytes\": " << PeakBytes()
        << ", \"links\": {\"bottleneck\": {\"arrived_packets\": " << monitor.m_arrivals
        << ", \"delivered_packets\": " << monitor.m_departures << ", \"dropped_packets\": " << monitor.m_drops
        << ", \"marked_packets\": " << monitor.m_marks
        << ", \"queue_packets_mean\": " << area / window
        << ", \"queue_delay_s_mean\": " << (departures > 0 ? area / departures : 0.0) << ", \"utilisation\": "
        << 8.0 * static_cast<double>(monitor.m_departed_bytes) / window /
               static_cast<double>(DataRate(bottleneck.rate).GetBitRate())
        << "}}, \"groups\": {";
    std::ostringstream flows;
    flows << std::setprecision(12);
    user = 0;
    size_t flow = 0;
    for (size_t g = 0; g < groups.size(); ++g)
    {
        const auto& group = groups[g];
        double frames = 0;
        double goodput = 0;
        for (uint32_t i = 0; i < group.users; ++i, ++user)
        {
            frames += users_detail ? static_cast<double>(monitor.m_user_bytes[user]) : 0.0;
            for (uint32_t f = 0; f < group.flows; ++f, ++flow)
            {
                const double bytes = static_cast<double>(sinks[flow]->GetTotalRx() - monitor.m_sink_start[flow]);
                goodput += bytes;
                flows << (flow > 0 ? ", " : "") << 8.0 * bytes / window;
            }
        }
        out << (g > 0 ? ", " : "") << "\"" << group.name << "\": {\"users\": " << group.users
            << ", \"goodput_bps\": " << 8.0 * goodput / window / group.users << ", \"throughput_bps\": ";
        if (users_detail)
        {
            out << 8.0 * frames / window / group.users << "}";
        }
        else
        {
            out << "null}";
        }
    }
    out << "}, \"flows_goodput_bps\": [" << flows.str() << "]";
    if (every > 0)
    {
        out << ", \"series\": " << recorder.Json();
    }
    out << "}";
    std::cout << out.str() << std::endl;
    Simulator::Destroy();
    return 0;
}
