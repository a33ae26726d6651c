import CommandEngine
import CountersignTelemetry
import Testing

@Suite struct StoreRivalryTests {
  /// A command that counts up the record of its key, and answers with the count.
  private static func carryOut(_ number: Int, _ store: any Store) async throws -> (String, [StoredMessage]) {
    let command = try InboxKey("command \(number)")
    let key = try holder("\(number % 5)")
    let load = keys(messages: [command], holders: [key])
    while true {
      let outcome = try await store.transact(load, at: start) { set throws(StoreError) -> String in
        if case .replied(_, let body)? = try set.message(command)?.state {
          return String(decoding: body, as: UTF8.self)
        }
        var record = try set.holder(of: key)
        if record == nil, let id = RecordID(ticket, "r\(number)") { record = Record(id, body: [0], uniqueKeys: [key]) }
        guard var record else { throw StoreError(.misuse, "no record") }
        record.body[0] += 1
        try set.put(record)
        let answer = "\(number % 5).\(record.body[0])"
        try set.set(reply(answer), of: command)
        try set.send(message("\(number)"))
        set.count(try counter("all"), in: Int64(number % 3), keepUntil: start)
        return answer
      }
      // As the engine does, which tries again later.
      if case .stored(let answer, let messages) = outcome { return (answer, messages) }
    }
  }

  @Test(arguments: StoreUnderTest.allCases)
  func `Every command arrives at both: one effect, answers alike, nothing lost`(_ kind: StoreUnderTest) async throws {
    try await kind.with { data in
      let stores = [try await data.open(), try await data.open()]
      let answers = try await withThrowingTaskGroup(of: (Int, String, [StoredMessage]).self) { group in
        for number in 0..<60 {
          for store in stores {
            group.addTask {
              let (answer, messages) = try await Self.carryOut(number, store)
              return (number, answer, messages)
            }
          }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      for number in 0..<60 {
        let all = Set(answers.filter { $0.0 == number }.map(\.1))
        #expect(all.count == 1, "\(number): \(all)")
      }
      #expect(Set(answers.map(\.1)).count == 60)
      let sent = answers.flatMap(\.2)
      #expect(sent.count == 60 && Set(sent.texts).count == 60 && Set(sent.map(\.number)).count == 60)
      let load = keys(holders: try (0..<5).map { try holder("\($0)") }, counters: [try counter("all")])
      let set = try await stores[0].read(load, at: start)
      let bodies = try (0..<5).map { try set.holder(of: try holder("\($0)"))?.body }
      #expect(bodies == Array(repeating: [12], count: 5))
      #expect(try set.cells(of: try counter("all")).map(\.count) == [20, 20, 20])
    }
  }

  private struct Round: Sendable {
    var swept: [String]
    var purged: Int
    var claimed: [String]
  }

  private static func tidy(_ store: any Store, limit: Int) async throws -> Round {
    let outcome = try await store.sweep(DueClaim(ticket, limit: limit), at: start) {
      records, set throws(StoreError) -> [String] in
      for record in records { try set.remove(record.id) }
      return records.map(\.id.text)
    }
    return Round(
      swept: try stored(outcome).value.result, purged: try await store.purge(.inbox, limit: limit, at: start),
      claimed: try await store.claimMessages(limit: limit, at: start).texts)
  }

  @Test(arguments: StoreUnderTest.allCases)
  func `Sweeps, purges and claims are shared, and nothing is done twice`(_ kind: StoreUnderTest) async throws {
    try await kind.with { data in
      let dead = try await data.open()
      let ids = try (0..<120).map { try id("r\($0)") }
      let entries = try (0..<120).map { try InboxKey("m\($0)") }
      _ = try stored(
        try await dead.transact(keys(messages: entries), at: start) { set throws(StoreError) -> Void in
          for (number, id) in ids.enumerated() {
            try set.put(Record(id, body: [], dueAt: start))
            try set.set(reply("x", keptFor: .zero), of: entries[number])
            try set.send(message("left \(number)"))
          }
        })
      await dead.close()
      let stores = [try await data.open(), try await data.open(), try await data.open()]
      let rounds = try await withThrowingTaskGroup(of: Round.self) { group in
        for number in 0..<30 {
          let store = stores[number % 3]
          group.addTask { try await Self.tidy(store, limit: 8) }
        }
        return try await group.reduce(into: [Round]()) { $0.append($1) }
      }
      let (swept, claimed) = (rounds.flatMap(\.swept), rounds.flatMap(\.claimed))
      let purged = rounds.reduce(0) { $0 + $1.purged }
      #expect(Set(swept).count == swept.count && purged <= 120 && Set(claimed).count == claimed.count)
      // Whoever comes last finds the rest, and no more.
      var (rest, left, gone) = (swept, claimed, purged)
      for store in stores {
        let round = try await Self.tidy(store, limit: 200)
        rest += round.swept
        left += round.claimed
        gone += round.purged
      }
      #expect(Set(rest).count == rest.count && rest.count == 120)
      #expect(Set(left).count == left.count && left.count == 120)
      #expect(gone == 120)
    }
  }
}
