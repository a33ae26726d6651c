import CommandEngine
import CountersignTelemetry
import Testing

@Suite struct StoreOutboxTests {
  @Test(arguments: StoreUnderTest.allCases)
  func `Messages come in the order they were sent, batch after batch`(_ kind: StoreUnderTest) async throws {
    try await kind.with { data in
      let store = try await data.open()
      var sent: [StoredMessage] = []
      for batch in 0..<3 {
        sent += try await store.add { set throws(StoreError) in
          for number in 0..<4 { try set.send(message("\(batch).\(number)")) }
        }
      }
      #expect(sent.texts == ["0.0", "0.1", "0.2", "0.3", "1.0", "1.1", "1.2", "1.3", "2.0", "2.1", "2.2", "2.3"])
      #expect(sent.map(\.number) == sent.map(\.number).sorted() && Set(sent.map(\.number)).count == 12)
      #expect(sent.allSatisfy { !$0.mayBeOut })
      await store.close()
      let next = try await data.open()
      let left = try await next.claimMessages(limit: 5, at: start)
      let rest = try await next.claimMessages(limit: 100, at: start)
      let all = left + rest
      #expect(all.texts == sent.texts && left.count == 5)
      #expect(all.allSatisfy { $0.mayBeOut })
      #expect(try await next.claimMessages(limit: 100, at: start).isEmpty)
    }
  }

  @Test(arguments: StoreUnderTest.allCases)
  func `What a living owner has in hand is not claimed; what a dead one left is, once`(_ kind: StoreUnderTest)
    async throws
  {
    try await kind.with { data in
      let owner = try await data.open()
      let others = [try await data.open(), try await data.open()]
      let sent = try await owner.add { set throws(StoreError) in
        for number in 0..<40 { try set.send(message("\(number)")) }
      }
      #expect(try await others[0].claimMessages(limit: 100, at: start + .seconds(86_400)).isEmpty)
      #expect(try await owner.claimMessages(limit: 100, at: start + .seconds(86_400)).isEmpty)
      // Nor settled by others.
      try await others[0].settle(OutboxSettlement(finished: sent.map(\.number)))
      #expect(try await owner.figures().messages == 40)
      await owner.close()
      var claimed = try await withThrowingTaskGroup(of: [StoredMessage].self) { group in
        for number in 0..<8 {
          group.addTask { try await others[number % 2].claimMessages(limit: 10, at: start) }
        }
        return try await group.reduce(into: []) { $0 += $1 }
      }
      // A claim that finds another one at the same owner leaves everything to it, and the rest to a later one.
      while case let rest = try await others[0].claimMessages(limit: 10, at: start), !rest.isEmpty { claimed += rest }
      #expect(claimed.map(\.number).sorted() == sent.map(\.number))
    }
  }

  @Test(arguments: StoreUnderTest.allCases)
  func `Settled messages are gone, with the next transaction or alone`(_ kind: StoreUnderTest) async throws {
    try await kind.with { data in
      let store = try await data.open()
      let sent = try await store.add { set throws(StoreError) in
        for text in ["a", "b", "c", "d"] { try set.send(message(text)) }
      }
      let outcome = try await store.transact(
        StoreKeys(), at: start, settling: OutboxSettlement(finished: [sent[0].number, sent[2].number])
      ) { set throws(StoreError) -> Void in try set.send(message("e")) }
      let next = try stored(outcome).messages
      #expect(next.texts == ["e"] && next[0].number > sent[3].number)
      try await store.settle(OutboxSettlement(finished: [sent[1].number]))
      await store.close()
      let other = try await data.open()
      #expect(try await other.claimMessages(limit: 10, at: start).texts == ["d", "e"])
    }
  }

  @Test(arguments: StoreUnderTest.allCases)
  func `A postponed message comes back at its time, also when the clock is set back`(_ kind: StoreUnderTest)
    async throws
  {
    try await kind.withStore { store in
      let sent = try await store.add { set throws(StoreError) in
        for text in ["a", "b"] { try set.send(message(text)) }
      }
      var later = OutboxSettlement(finished: [sent[0].number])
      later.postponed = [sent[1].number: start + .seconds(5)]
      try await store.settle(later)
      #expect(try await store.claimMessages(limit: 10, at: start + .seconds(4)).isEmpty)
      let claimed = try await store.claimMessages(limit: 10, at: start + .seconds(5))
      #expect(claimed.texts == ["b"] && !claimed[0].mayBeOut)
      #expect(try await store.claimMessages(limit: 10, at: start + .seconds(500)).isEmpty)
      try await store.settle(later)
      // A day earlier by the clock: nothing is ever postponed for as long.
      #expect(try await store.claimMessages(limit: 10, at: start - .seconds(86_400)).texts == ["b"])
    }
  }

  @Test(arguments: StoreUnderTest.allCases)
  func `A refused message is not out, unless a process died with it in hand`(_ kind: StoreUnderTest) async throws {
    try await kind.with { data in
      let (store, other) = (try await data.open(), try await data.open())
      var hand = try await store.add { set throws(StoreError) in try set.send(message("a")) }
      var time = start
      func refuse(_ owner: any Store, claimedBy next: any Store) async throws {
        var settlement = OutboxSettlement()
        time = time + .seconds(5)
        for row in hand { settlement.postponed[row.number] = time }
        try await owner.settle(settlement)
        if owner as AnyObject !== next as AnyObject { await owner.close() }
        hand = try await next.claimMessages(limit: 10, at: time)
      }
      for _ in 0..<3 {
        try await refuse(store, claimedBy: store)
        #expect(hand.map(\.mayBeOut) == [false])
      }
      // The owner dies after it has settled.
      try await refuse(store, claimedBy: other)
      #expect(hand.map(\.mayBeOut) == [false])
      // And now with the message in hand.
      await other.close()
      let last = try await data.open()
      hand = try await last.claimMessages(limit: 10, at: time)
      #expect(hand.map(\.mayBeOut) == [true])
      for _ in 0..<3 {
        try await refuse(last, claimedBy: last)
        #expect(hand.map(\.mayBeOut) == [true])
      }
      // A message that was never claimed before.
      _ = try await last.add { set throws(StoreError) in try set.send(message("b")) }
      await last.close()
      let heir = try await data.open()
      hand = try await heir.claimMessages(limit: 10, at: time).filter { $0.message == message("b") }
      #expect(hand.map(\.mayBeOut) == [true])
      try await refuse(heir, claimedBy: heir)
      #expect(hand.map(\.mayBeOut) == [true])
      try await refuse(heir, claimedBy: heir)
      #expect(hand.map(\.mayBeOut) == [true])
      await heir.close()
    }
  }

  @Test(arguments: StoreUnderTest.allCases)
  func `A message that no version can read waits for the next process`(_ kind: StoreUnderTest) async throws {
    try await kind.with { data in
      let (store, other) = (try await data.open(), try await data.open())
      let sent = try await store.add { set throws(StoreError) in try set.send(message("a")) }
      var settlement = OutboxSettlement()
      settlement.setAside = sent.map(\.number)
      try await store.settle(settlement)
      #expect(try await store.figures() == StoreFigures(messages: 1, setAside: 1))
      for store in [store, other] {
        for time in [start, start + .seconds(1_000_000), start - .seconds(1_000_000)] {
          #expect(try await store.claimMessages(limit: 10, at: time).isEmpty)
        }
      }
      await store.close()
      #expect(try await other.claimMessages(limit: 10, at: start).texts == ["a"])
    }
  }

  @Test(arguments: StoreUnderTest.allCases)
  func `A held message goes only after the reply to its command`(_ kind: StoreUnderTest) async throws {
    try await kind.with { data in
      let (store, other) = (try await data.open(), try await data.open())
      let (command, another) = (try InboxKey("command"), try InboxKey("another"))
      let hold = OutboxMessage.Hold(untilReplyTo: command, orAt: start + .seconds(30))
      let outcome = try await store.transact(keys(messages: [command]), at: start) { set throws(StoreError) -> Bool in
        try set.send(message("free"))
        try set.send(message("held", hold: hold))
        return try set.holdsMessages(untilReplyTo: command)
      }
      let (holds, ready) = try stored(outcome)
      #expect(holds && ready.texts == ["free"])
      let load = keys(messages: [command, another])
      _ = try await store.transact(load, at: start) { set throws(StoreError) -> Void in
        try set.set(reply("x"), of: command)
        try set.set(reply("x"), of: another)
      }
      let set = try await other.read(load, at: start)
      #expect(try set.holdsMessages(untilReplyTo: command) && !set.holdsMessages(untilReplyTo: another))
      #expect(try await store.claimMessages(limit: 10, at: start + .seconds(29)).isEmpty)
      #expect(try await store.release(heldBy: [another], at: start).isEmpty)
      let released = try await store.release(heldBy: [command], at: start)
      #expect(released.texts == ["held"] && released[0].message.hold == nil)
      #expect(try await store.release(heldBy: [command], at: start).isEmpty)
      #expect(try await store.claimMessages(limit: 10, at: start + .seconds(60)).isEmpty)
    }
  }

  @Test(arguments: StoreUnderTest.allCases)
  func `A held message outlives its owner, still held, until its hold ends`(_ kind: StoreUnderTest) async throws {
    try await kind.with { data in
      let (store, other) = (try await data.open(), try await data.open())
      let hold = OutboxMessage.Hold(untilReplyTo: try InboxKey("command"), orAt: start + .seconds(30))
      let free = try await store.add { set throws(StoreError) in
        try set.send(message("held", hold: hold))
        try set.send(message("free"))
      }
      #expect(free.texts == ["free"])
      await store.close()
      #expect(try await other.claimMessages(limit: 10, at: start).texts == ["free"])
      #expect(try await other.claimMessages(limit: 10, at: start + .seconds(29)).isEmpty)
      let claimed = try await other.claimMessages(limit: 10, at: start + .seconds(30))
      #expect(claimed.texts == ["held"])
      // It was not out when its owner died.
      #expect(claimed.map(\.mayBeOut) == [false])
    }
  }
}
