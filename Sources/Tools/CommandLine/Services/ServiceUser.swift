import CountersignCryptography
import CountersignEncoding
import CountersignMessages

/// The broker user of a service as it shall be, and as it is.
struct ServiceUser {
  let name: String
  let kind: ServiceKind
  let keepsEvents: Bool

  var declaration: UserDeclaration { kind.user(name) }
  var eventQueue: String { Topology.Queues.events(of: name) }

  /// Differences of the user, with fixes only. None but a missing user lacks a password after them.
  func changes(of state: UserDifferences) throws(CommandLineError) -> [TopologyDifference] {
    let found = state.serviceKind(of: name)
    if let found, found != kind {
      let hint = found == .sender ? "give --sender" : "leave --sender out"
      throw CommandLineError(
        .refused, "user \(name) has the rights of \(found.rawValue): \(hint), or remove it first")
    }
    guard found != nil || !state.hasRights(name) else {
      throw CommandLineError(.refused, "user \(name) has rights that are not a service's: choose another name")
    }
    return try Self.fixable(state.differences(of: declaration))
  }

  /// Declaration of the queue that keeps its events. Empty if it is there, or not asked for.
  /// - Parameter found: queues and policies of the broker.
  func eventChanges(of found: [BrokerObject]) throws(CommandLineError) -> [TopologyDifference] {
    guard keepsEvents else { return [] }
    guard PolicyDeclaration.events.difference(from: found) == nil else {
      throw CommandLineError(
        .refused, "the broker lacks the policy that bounds the queues of events: run countersign topology apply first")
    }
    return try Self.fixable([BrokerObject.queue(eventQueue).difference(from: found)].compactMap { $0 })
  }

  private static func fixable(_ differences: [TopologyDifference]) throws(CommandLineError) -> [TopologyDifference] {
    if case .byHand(let how)? = differences.first(where: { !$0.isFixable })?.remedy {
      let what = differences.filter { !$0.isFixable }.map(\.description).joined(separator: "; ")
      throw CommandLineError(.refused, "\(what); by hand: \(how)")
    }
    return differences
  }
}

/// Writes of the management API for the user of a service.
enum ServiceWrites {
  /// 256 bits.
  private static let passwordBytes = 32

  static func newPassword() -> String { Base64URL.encode(SecureRandom.bytes(passwordBytes)) }

  static func password(of name: String, _ password: String) -> ManagementWrite {
    ManagementWrite(["users", name], ["password": .text(password), "tags": ""])
  }

  static func removal(_ name: String) -> ManagementWrite { ManagementWrite(["users", name], [:], method: "DELETE") }

  /// Of the rights in the virtual host alone.
  static func removal(ofRights name: String, withTopics: Bool) -> [ManagementWrite] {
    (withTopics ? ["permissions", "topic-permissions"] : ["permissions"]).map {
      ManagementWrite([$0, name], [:], method: "DELETE")
    }
  }

  static func removal(ofQueue name: String) -> ManagementWrite {
    ManagementWrite(["queues", name], [:], method: "DELETE")
  }
}
