import JobEngine
import ServiceRuntime

/// Lanes of type `apns`: Apple's push services.
struct APNsProvider: PushProvider, Hashable {
  static let typeName = "apns"
  static let table = ProviderTables.Source("apns")
  static let tables = [table]

  let environment: APNsEnvironment
  let baseURL: String
  /// Maximum number of connections.
  let connections: Int
  /// Maximum time one try may take.
  let answerTimeout: Duration

  /// Each environment has one lane in `lanes`.
  var uniqueKey: (key: String, value: String)? { ("environment", environment.rawValue) }

  init(_ section: ConfigurationSection) {
    environment = section.word(
      "environment", default: .production, "The push service: production, or sandbox for apps signed for development.")
    baseURL = section.baseURL(default: environment.host, "Address of the push service.").withoutTrailingSlash
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
    try lanes.apns.add(self, entry, table: context.tables[Self.table], clocks: context.clocks)
  }
}
