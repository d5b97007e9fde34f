// CoDel, PIE and FQ-CoDel of ns-3.37 at the bottleneck of a dumbbell: users -> own access link -> edge -> bottleneck -> server.
//
// It prints one JSON line with the field names of an Evenflow record. Every user has one flow: NewReno with SACK, PRR and an
// initial window of ten segments (frames of 1446 + 54 bytes), or Poisson datagrams (frames of 1500 bytes).
//
// The queue discipline stands inside the bottleneck's device, which asks it for a packet when the one before has left: nothing
// waits behind it unseen. In the usual traffic-control layer a device queue of one packet does, and the discipline would see
// 1.2 ms less delay at 10 Mbit/s. Packets are stamped when they are offered to the discipline, as that layer does.

#include <ns3/applications-module.h>
#include <ns3/core-module.h>
#include <ns3/internet-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-module.h>
#include <ns3/traffic-control-module.h>

#include <iomanip>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

constexpr uint16_t FIRST_PORT = 1000;
constexpr uint32_t SEGMENT = 1446;     // + 12 timestamps + 20 TCP + 20 IP + 2 PPP = 1500
constexpr uint32_t UDP_PAYLOAD = 1470; // + 8 UDP + 20 IP + 2 PPP = 1500
constexpr uint32_t PPP = 2;
constexpr uint32_t UNLIMITED = 1000000;

/// What passed, in the window that begins with Reset().
struct Counts
{
    uint64_t arrived = 0;
    uint64_t delivered = 0;
    uint64_t bytes = 0;
    uint64_t dropped = 0;
    uint64_t marked = 0;
    double waited = 0; // by those that were delivered, s
};

/// A device whose waiting packets are those of a queue discipline.
class DisciplinedDevice : public PointToPointNetDevice
{
  public:
    void SetDiscipline(Ptr<QueueDisc> discipline)
    {
        m_discipline = discipline;
        m_discipline->Initialize();
        m_discipline->TraceConnectWithoutContext("Drop", MakeCallback(&DisciplinedDevice::Dropped, this));
        m_discipline->TraceConnectWithoutContext("Mark", MakeCallback(&DisciplinedDevice::Marked, this));
        m_discipline->TraceConnectWithoutContext("PacketsInQueue", MakeCallback(&DisciplinedDevice::Length, this));
        TraceConnectWithoutContext("PhyTxEnd", MakeCallback(&DisciplinedDevice::Sent, this));
    }

    bool Send(Ptr<Packet> packet, const Address& dest, uint16_t protocol) override
    {
        Ipv4Header header;
        packet->RemoveHeader(header);
        auto item = Create<Ipv4QueueDiscItem>(packet, dest, protocol, header);
        item->SetTimeStamp(Simulator::Now());
        ++counts.arrived;
        const bool kept = m_discipline->Enqueue(item);
        if (!m_busy)
        {
            Next();
        }
        return kept;
    }

    void Reset()
    {
        Area();
        counts = Counts();
        m_area = 0;
    }

    /// Waiting packets, integrated over time.
    double Area()
    {
        const double now = Simulator::Now().GetSeconds();
        m_area += m_length * (now - m_since);
        m_since = now;
        return m_area;
    }

    Counts counts;

  private:
    void Next()
    {
        const auto item = m_discipline->Dequeue();
        m_busy = static_cast<bool>(item);
        if (m_busy)
        {
            ++counts.delivered;
            counts.bytes += item->GetSize() + PPP;
            counts.waited += (Simulator::Now() - item->GetTimeStamp()).GetSeconds();
            item->AddHeader();
            PointToPointNetDevice::Send(item->GetPacket(), item->GetAddress(), item->GetProtocol());
        }
    }

    void Sent(Ptr<const Packet>)
    {
        // Not at once: the device has still to forget the packet that it has just sent.
        Simulator::ScheduleNow(&DisciplinedDevice::Next, this);
    }

    void Dropped(Ptr<const QueueDiscItem>)
    {
        ++counts.dropped;
    }

    void Marked(Ptr<const QueueDiscItem>, const char*)
    {
        ++counts.marked;
    }

    void Length(uint32_t, uint32_t length)
    {
        Area();
        m_length = length;
    }

    Ptr<QueueDisc> m_discipline;
    bool m_busy = false;
    uint32_t m_length = 0;
    double m_area = 0;
    double m_since = 0;
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

struct Link
{
    std::string rate;
    Time delay;
};

template <typename Near>
Ptr<Near>
Connect(Ptr<Node> from, Ptr<Node> to, const Link& link, Ptr<PointToPointNetDevice>& far)
{
    auto near = CreateObject<Near>();
    far = CreateObject<PointToPointNetDevice>();
    auto channel = CreateObject<PointToPointChannel>();
    channel->SetAttribute("Delay", TimeValue(link.delay));
    for (const Ptr<PointToPointNetDevice>& device : {Ptr<PointToPointNetDevice>(near), far})
    {
        auto queue = CreateObject<DropTailQueue<Packet>>();
        queue->SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, UNLIMITED));
        device->SetQueue(queue);
        device->SetAddress(Mac48Address::Allocate());
        device->SetDataRate(DataRate(link.rate));
    }
    from->AddDevice(near);
    to->AddDevice(far);
    near->Attach(channel);
    far->Attach(channel);
    return near;
}

Ipv4Address
End(uint32_t link, uint32_t end)
{
    return Ipv4Address(0x0a000000 + 4 * link + 1 + end);
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
    double rate; // of a user in bit/s; 0: bulk TCP
};

/// "flows:5:0,datagrams:1:12000000": name, users, rate of a Poisson user in bit/s, 0 for TCP.
std::vector<Group>
ParseGroups(const std::string& text)
{
    std::vector<Group> groups;
    std::istringstream list(text);
    for (std::string item; std::getline(list, item, ',');)
    {
        const auto first = item.find(':');
        const auto second = item.find(':', first + 1);
        NS_ABORT_MSG_IF(second == std::string::npos, "groups: expected name:users:rate, got " << item);
        groups.push_back({item.substr(0, first),
                          static_cast<uint32_t>(std::stoul(item.substr(first + 1))),
                          std::stod(item.substr(second + 1))});
    }
    return groups;
}

/// The discipline with its attributes, "Target=5ms,Interval=100ms".
Ptr<QueueDisc>
MakeDiscipline(const std::string& kind, const std::string& attributes, uint32_t quantum)
{
    ObjectFactory factory(kind);
    std::istringstream list(attributes);
    for (std::string item; std::getline(list, item, ',');)
    {
        const auto equals = item.find('=');
        factory.Set(item.substr(0, equals), StringValue(item.substr(equals + 1)));
    }
    auto discipline = factory.Create<QueueDisc>();
    if (auto pie = DynamicCast<PieQueueDisc>(discipline))
    {
        pie->AssignStreams(3000000);
    }
    if (auto fair = DynamicCast<FqCoDelQueueDisc>(discipline))
    {
        fair->SetQuantum(quantum);
    }
    return discipline;
}

} // namespace

int
main(int argc, char* argv[])
{
    std::string group_text = "flows:5:0";
    Link access{"100Mbps", MicroSeconds(100)};
    Link bottleneck{"10Mbps", MicroSeconds(24900)};
    std::string kind = "ns3::CoDelQueueDisc";
    std::string attributes;
    uint32_t quantum = 1514;
    double duration = 60;
    double warmup = 10;
    double start_max = 2;
    uint32_t run = 1;
    uint32_t ack_every = 2;
    uint32_t buffer = 1 << 20;
    bool ecn = false;

    CommandLine cmd(__FILE__);
    cmd.AddValue("groups", "name:users:rate, comma separated; rate 0: bulk TCP", group_text);
    cmd.AddValue("accessRate", "rate of each access link", access.rate);
    cmd.AddValue("accessDelay", "delay of each access link", access.delay);
    cmd.AddValue("rate", "rate of the bottleneck", bottleneck.rate);
    cmd.AddValue("delay", "delay of the bottleneck", bottleneck.delay);
    cmd.AddValue("discipline", "type of the bottleneck's queue discipline", kind);
    cmd.AddValue("attributes", "its attributes, name=value, comma separated", attributes);
    cmd.AddValue("quantum", "FQ-CoDel's, bytes without the PPP header", quantum);
    cmd.AddValue("duration", "end of the run in s", duration);
    cmd.AddValue("warmup", "begin of the measurement in s", warmup);
    cmd.AddValue("startMax", "flows start uniformly in [0, startMax] s", start_max);
    cmd.AddValue("run", "number of the replication", run);
    cmd.AddValue("ackEvery", "segments an acknowledgement", ack_every);
    cmd.AddValue("buffer", "send and receive buffer in bytes", buffer);
    cmd.AddValue("ecn", "ECN-capable connections", ecn);
    cmd.Parse(argc, argv);

    RngSeedManager::SetSeed(1);
    RngSeedManager::SetRun(run);
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpNewReno::GetTypeId()));
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType", TypeIdValue(TcpPrrRecovery::GetTypeId()));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(Seconds(1)));
    Config::SetDefault("ns3::TcpSocketBase::UseEcn", EnumValue(ecn ? TcpSocketState::On : TcpSocketState::Off));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(SEGMENT));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(buffer));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(buffer));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(ack_every));
    Config::SetDefault("ns3::BulkSendApplication::SendSize", UintegerValue(SEGMENT));

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
    Ptr<PointToPointNetDevice> far;
    for (uint32_t u = 0; u < users; ++u)
    {
        const auto near = Connect<PointToPointNetDevice>(hosts.Get(u), edge, access, far);
        const uint32_t interface = AddInterface(hosts.Get(u), near, End(u, 0));
        AddInterface(edge, far, End(u, 1));
        AddDefaultRoute(hosts.Get(u), End(u, 1), interface);
    }
    const auto near = Connect<DisciplinedDevice>(edge, server, bottleneck, far);
    near->SetDiscipline(MakeDiscipline(kind, attributes, quantum));
    const uint32_t down = AddInterface(edge, near, End(users, 0));
    const uint32_t back = AddInterface(server, far, End(users, 1));
    AddDefaultRoute(edge, End(users, 1), down);
    AddDefaultRoute(server, End(users, 0), back);

    auto start = CreateObject<UniformRandomVariable>();
    start->SetAttribute("Max", DoubleValue(start_max));
    start->SetStream(0);
    std::vector<Ptr<PacketSink>> sinks;
    std::vector<uint64_t> before;
    std::vector<std::unique_ptr<PoissonSource>> sources;
    uint32_t user = 0;
    for (const auto& group : groups)
    {
        for (uint32_t i = 0; i < group.users; ++i, ++user)
        {
            const InetSocketAddress to(End(users, 1), static_cast<uint16_t>(FIRST_PORT + user));
            const bool udp = group.rate > 0;
            const std::string factory = udp ? "ns3::UdpSocketFactory" : "ns3::TcpSocketFactory";
            const Time begin = Seconds(start->GetValue());
            auto sink = PacketSinkHelper(factory, to).Install(server);
            sink.Start(Seconds(0));
            sinks.push_back(DynamicCast<PacketSink>(sink.Get(0)));
            if (udp)
            {
                const int64_t stream = 2000000 + user;
                sources.push_back(std::make_unique<PoissonSource>(hosts.Get(user), to, group.rate, begin, stream));
            }
            else
            {
                BulkSendHelper(factory, to).Install(hosts.Get(user)).Start(begin);
            }
        }
    }
    Simulator::Schedule(Seconds(warmup), [&]() {
        near->Reset();
        for (const auto& sink : sinks)
        {
            before.push_back(sink->GetTotalRx());
        }
    });
    Simulator::Stop(Seconds(duration));
    Simulator::Run();

    const double window = duration - warmup;
    const double area = near->Area();
    const auto& counts = near->counts;
    std::ostringstream out;
    out << std::setprecision(12);
    out << "{\"simulator\": \"" SIMULATOR "\", \"seed\": " << run << ", \"window_s\": [" << warmup << ", " << duration
        << "], \"links\": {\"bottleneck\": {\"arrived_packets\": " << counts.arrived
        << ", \"delivered_packets\": " << counts.delivered << ", \"dropped_packets\": " << counts.dropped
        << ", \"marked_packets\": " << counts.marked << ", \"queue_packets_mean\": " << area / window
        << ", \"queue_delay_s_mean\": "
        << (counts.delivered > 0 ? counts.waited / static_cast<double>(counts.delivered) : 0.0)
        << ", \"utilisation\": "
        << 8.0 * static_cast<double>(counts.bytes) / window /
               static_cast<double>(DataRate(bottleneck.rate).GetBitRate())
        << "}}, \"groups\": {";
    user = 0;
    for (size_t g = 0; g < groups.size(); ++g)
    {
        out << (g > 0 ? ", " : "") << "\"" << groups[g].name << "\": {\"users_goodput_bps\": [";
        for (uint32_t i = 0; i < groups[g].users; ++i, ++user)
        {
            const auto bytes = static_cast<double>(sinks[user]->GetTotalRx() - before[user]);
            out << (i > 0 ? ", " : "") << 8.0 * bytes / window;
        }
        out << "]}";
    }
    out << "}}";
    std::cout << out.str() << std::endl;
    Simulator::Destroy();
    return 0;
}
