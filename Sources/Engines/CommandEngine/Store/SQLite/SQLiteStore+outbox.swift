public import CountersignTelemetry
import SQLite

extension SQLiteStore {
  public func claimMessages(limit: Int, at now: UnixTime) async throws(StoreError) -> [StoredMessage] {
    try StoreError.check(limit, 1...StoreLimits.maxClaimedMessages, "a claim of messages")
    let own = owners.own
    let (dead, isAnything) = try await look { [owners] session throws(StoreError) in
      let outbox = SQLiteOutbox(session: session, owner: own)
      let dead = try outbox.others().filter { !owners.isLiving($0) }
      return (dead, try outbox.isAnythingDue(at: now))
    }
    // Usually there is nothing, and a look costs no commit.
    guard isAnything || !dead.isEmpty else { return [] }
    return try await change { session throws(StoreError) in
      let outbox = SQLiteOutbox(session: session, owner: own)
      let messages = try outbox.claim(limit, of: dead, at: now)
      for owner in dead { try outbox.forget(owner) }
      return messages
    }
  }

  public func release(heldBy commands: [InboxKey], at now: UnixTime) async throws(StoreError) -> [StoredMessage] {
    let own = owners.own
    return try await change { session throws(StoreError) in
      let outbox = SQLiteOutbox(session: session, owner: own)
      var messages: [StoredMessage] = []
      for command in commands { messages += try outbox.release(command) }
      return messages.sorted { $0.number < $1.number }
    }
  }

  /// The lock of an owner ends with its process only.
  public func owned(_ messages: [StoredMessage]) async -> [StoredMessage] { messages }

  public func settle(_ settlement: OutboxSettlement) async throws(StoreError) {
    guard !settlement.isEmpty else { return }
    let own = owners.own
    try await change { session throws(StoreError) -> Void in
      try SQLiteOutbox(session: session, owner: own).settle(settlement)
    }
  }

  public func figures() async throws(StoreError) -> StoreFigures {
    try await look { session throws(StoreError) in
      func count(_ condition: String) throws(StoreError) -> Int {
        try session.first("SELECT count(*) FROM store_outbox \(condition)", []) { $0.int(0) } ?? 0
      }
      return StoreFigures(
        messages: try count(""), setAside: try count("WHERE retry = \(SetAside.mark)"))
    }
  }
}
