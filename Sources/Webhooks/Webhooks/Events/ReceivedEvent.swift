import CommandEngine
import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry

/// An event as it came from the broker.
struct ReceivedEvent: Sendable, Hashable {
  private static let json = JSONReader(maxBytes: MessageLimits.maxBodyBytes)
  /// Fields that name the subject of an event, the first that it has: an account, a verification, an operation, the
  /// proof of an app, a block.
  private static let subjects = ["localID", "verificationID", "operationID", "receipt", "key"]
  private static let subjectBytes = 12

  /// See ``QueuedEvent/messageID``.
  let id: String
  let type: MessageType
  let happenedAt: UnixTime?
  let body: [UInt8]
  /// Hash of the subject, whose events keep their order.
  let subject: String

  /// - Throws: ``ContractProblem/Code-swift.struct/invalidField`` for a body that is not a JSON object.
  init(_ envelope: Envelope, _ body: [UInt8]) throws(ContractProblem) {
    let value: JSONValue
    do throws(JSONRefusal) {
      value = try Self.json.value(of: body)
    } catch {
      throw ContractProblem(.invalidField, field: "body", "must be JSON")
    }
    guard let members = value.members else {
      throw ContractProblem(.invalidField, field: "body", "must be a JSON object")
    }
    // An event that an operator publishes again keeps its ID.
    let user = envelope.userID == Topology.Users.operator ? envelope.statedSender : envelope.userID
    id = QueuedEvent.id(of: envelope.messageID, from: user ?? "")
    type = envelope.type
    happenedAt = envelope.timestamp
    self.body = body
    subject = Self.subject(of: envelope, members)
  }

  /// Events without a subject keep no order, so that none of them waits for another. Sets of keys follow each other.
  private static func subject(of envelope: Envelope, _ members: [String: JSONValue]) -> String {
    let family = envelope.type.name.prefix { $0 != "." }
    let unnamed = envelope.type.name == KeysPublished.routingKey ? "" : envelope.messageID
    let own = subjects.lazy.compactMap { members[$0]?.text }.first ?? unnamed
    let text = [String(family), members["project"]?.text ?? "", own].joined(separator: "\n")
    return Hexadecimal.encode(Array(SHA256.hash(Array(text.utf8)).prefix(subjectBytes)))
  }
}
