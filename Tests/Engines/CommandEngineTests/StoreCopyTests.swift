import CountersignTelemetry
import PostgreSQL
import Testing

@testable import CommandEngine

@Suite struct StoreCopyTests {
  @Test func `Pages that are larger than a transaction may be are written in parts`() async throws {
    try await StoreUnderTest.withFile { path in
      let source = try await StoreUnderTest.open(path)
      try await PostgreSQLUnderTest.with { database in
        let target = try await database.open { options in
          options.connections.maxValueBytes = 1 << 16
          options.connections.maxRunBytes = 1 << 18
        }
        let body = [UInt8](repeating: 7, count: 10_000)
        let load = keys(messages: try (0..<40).map { try InboxKey("\($0)") })
        let outcome = try await source.transact(load, at: start) { set throws(StoreError) -> Void in
          for number in 0..<40 {
            guard let id = RecordID(ticket, "r\(number)") else { return }
            try set.put(Record(id, body: body))
            try set.set(
              InboxEntry(.replied(type: "x", body: body), fingerprint: [], keepUntil: start), of: InboxKey("\(number)"))
            set.count(try counter("\(number)"), in: 1, keepUntil: start)
            try set.send(OutboxMessage(type: "job.v1", content: body))
          }
        }
        _ = try stored(outcome)
        let archive = SQLiteArchive(source)
        let copied = try await StoreCopy(from: archive, to: target).run(
          at: start, progress: { _, _ in }, verify: { _ throws(StoreError) in })
        #expect(copied.unreadable == 0)
        let (found, expected) = (try await PostgreSQLArchive(target).counts(), try await archive.counts())
        #expect(found == expected)
        #expect(try await target.found(try id("r39"))?.body == body)
      }
      await source.close()
    }
  }

  @Test func `A row that is too large by itself ends the copy, which leaves its mark`() async throws {
    try await StoreUnderTest.withFile { path in
      let source = try await StoreUnderTest.open(path)
      try await PostgreSQLUnderTest.with { database in
        let target = try await database.open { $0.connections.maxValueBytes = 1 << 12 }
        try await source.put(Record(try id("large"), body: [UInt8](repeating: 7, count: 10_000)))
        let copy = StoreCopy(from: SQLiteArchive(source), to: target)
        let error = await #expect(throws: StoreError.self) {
          try await copy.run(at: start, progress: { _, _ in }, verify: { _ throws(StoreError) in })
        }
        #expect(error?.code == .tooLarge)
        #expect(try await StoreCopyMark.isSet(in: target))
      }
      await source.close()
    }
  }
}
