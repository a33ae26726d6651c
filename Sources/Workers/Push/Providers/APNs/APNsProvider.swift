import CountersignTelemetry
import JobEngine
import ServiceRuntime

struct APNsProvider: PushProvider, Hashable {
  static let typeName = "apns"
  static let pushes = true

  let environment: DeviceEnvironment
  let baseURL: String
  let connections: Int
  let answerTimeout: Duration

  /// Each environment has one lane in `lanes`.
  var uniqueKey: (key: String, value: String)? { ("environment", environment.rawValue) }

  init(_ section: ConfigurationSection) {
    environment = section.word(
      "environment", default: .production, "The push service: production, or sandbox for apps signed for development.")
    baseURL = LaneRequest.base(section.baseURL(default: environment.host, "Address of the push service."))
    connections = section.integer(
      "connections", default: 4, in: 1...64,
      "Connections at once. Apple lets one push at a time through on a connection that has just refused a token.")
    answerTimeout = section.seconds(
      "answerTimeoutSeconds", default: .seconds(3), in: .milliseconds(100) ... .seconds(60),
      "After this time without an answer a push is sent again on another connection.")
  }

  func makeLanes(
    _ entry: PushLaneSettings, _ context: PushLaneContext, in lanes: inout PushLanes
  ) throws(WorkerError) {
    for account in APNsAccount.all(context.apps) {
      let lane = try account.lane(self, entry, context, tokens: lanes.pushing.tokens(of: account.identity))
      lanes.pushing.add(
        PushRoute(lane: lane, environment: environment), account.configuration(entry), apps: account.apps)
    }
  }

  static func register(_ lanes: PushLanes, in metrics: MetricsRegistry) {
    let (pools, tokens) = (lanes.pushing.pools, lanes.pushing.tokens)
    metrics.counter(
      "countersign_push_provider_tokens_total", "Provider tokens created; Apple allows one per key in 20 minutes."
    ) { Double(tokens.reduce(0) { $0 + $1.made }) }
    metrics.counter(
      "countersign_push_connections_given_up_total",
      "Connections to APNs that were given up: they were silent, or had presented an expired token."
    ) { Double(pools.reduce(0) { $0 + $1.givenUp }) }
    metrics.gauge("countersign_push_connections", "Connections to APNs.") {
      Double(pools.reduce(0) { $0 + $1.count })
    }
  }
}
