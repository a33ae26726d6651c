/// A queue as the management API shows it. Counts are absent until the broker has first collected them.
struct QueueState: Sendable, Decodable {
  let name: String
  var messages: Int?
  var ready: Int?
  var unacknowledged: Int?
  var consumers: Int?

  enum CodingKeys: String, CodingKey {
    case name, messages, consumers
    case ready = "messages_ready"
    case unacknowledged = "messages_unacknowledged"
  }
}
