import CommandEngine
import CountersignTelemetry
import Testing

@Suite struct StoreInboxTests {
  @Test(arguments: StoreUnderTest.allCases)
  func `A message that was answered is found again with its reply`(_ kind: StoreUnderTest) async throws {
    try await kind.with { data in
      let store = try await data.open()
      let key = try InboxKey("service\u{1F}m \u{0} é")
      let first = try await store.transact(keys(messages: [key]), at: start) { set throws(StoreError) -> Bool in
        guard try set.message(key) == nil else { return false }
        try set.set(reply("hello"), of: key)
        return try set.message(key) == reply("hello")
      }
      #expect(try stored(first).value)
      let again = try await data.open().read(keys(messages: [key]), at: start)
      #expect(try again.message(key) == reply("hello"))
      #expect(try !again.holdsMessages(untilReplyTo: key))
    }
  }

  @Test(arguments: StoreUnderTest.allCases)
  func `A reserved message is answered later, or carried out without a recorded reply`(_ kind: StoreUnderTest)
    async throws
  {
    try await kind.withStore { store in
      let (waiting, secret) = (try InboxKey("waiting"), try InboxKey("secret"))
      let load = keys(messages: [waiting, secret])
      let reserved = InboxEntry(.reserved, fingerprint: [7], keepUntil: start)
      let unrecorded = InboxEntry(.unrecorded(note: [9, 0, 9]), fingerprint: [8], keepUntil: start)
      _ = try await store.transact(load, at: start) { set throws(StoreError) -> Void in
        try set.set(reserved, of: waiting)
        try set.set(unrecorded, of: secret)
      }
      let outcome = try await store.transact(load, at: start) { set throws(StoreError) -> [InboxEntry?] in
        let before = [try set.message(waiting), try set.message(secret)]
        try set.set(reply("late"), of: waiting)
        return before
      }
      #expect(try stored(outcome).value == [reserved, unrecorded])
      #expect(try await store.read(load, at: start).message(waiting) == reply("late"))
    }
  }

  @Test(arguments: StoreUnderTest.allCases)
  func `Of two writers of the same message the second reads again`(_ kind: StoreUnderTest) async throws {
    try await kind.with { data in
      let (one, other) = (try await data.open(), try await data.open())
      let key = try InboxKey("m")
      var (first, second) = (
        try await one.read(keys(messages: [key]), at: start), try await other.read(keys(messages: [key]), at: start)
      )
      try first.set(reply("first"), of: key)
      try second.set(reply("second"), of: key)
      _ = try stored(try await one.write(first))
      #expect(conflict(try await other.write(second)) == .received)
      #expect(try await other.read(keys(messages: [key]), at: start).message(key) == reply("first"))
    }
  }

  @Test(arguments: StoreUnderTest.allCases)
  func `Of two answers to a reserved message the second reads again`(_ kind: StoreUnderTest) async throws {
    try await kind.withStore { store in
      let key = try InboxKey("m")
      let load = keys(messages: [key])
      _ = try await store.transact(load, at: start) { set throws(StoreError) -> Void in
        try set.set(InboxEntry(.reserved, fingerprint: [], keepUntil: start), of: key)
      }
      var (first, second) = (try await store.read(load, at: start), try await store.read(load, at: start))
      try first.set(reply("first"), of: key)
      try second.set(reply("second"), of: key)
      _ = try stored(try await store.write(first))
      #expect(conflict(try await store.write(second)) == .received)
    }
  }

  @Test(arguments: StoreUnderTest.allCases)
  func `An answered message is not answered again`(_ kind: StoreUnderTest) async throws {
    try await kind.withStore { store in
      let key = try InboxKey("m")
      let error = await #expect(throws: StoreError.self) {
        try await store.transact(keys(messages: [key]), at: start) { set throws(StoreError) -> Void in
          try set.set(reply("one"), of: key)
          try set.set(reply("two"), of: key)
        }
      }
      #expect(error?.code == .misuse)
      #expect(try await store.read(keys(messages: [key]), at: start).message(key) == nil)
    }
  }
}
