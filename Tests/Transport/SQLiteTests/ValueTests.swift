import Testing

@testable import SQLite

@Suite struct ValueTests {
  static let values: [Value] = [
    .null, 0, -1, .integer(.max), .integer(.min), 1.5, .real(-.infinity), "", "text", "null\0inside", "日本語", .blob([]),
    .blob([0, 255]),
    true, Value(nil as Int?), Value(7), Value("x"), Value([1] as [UInt8]), Value(false), Value(2.5), Value(Int64(9)),
  ]

  @Test(arguments: values)
  func `A value comes back as it was`(value: Value) async throws {
    try await withNotes { database, _ in
      let back = try await database.read { session throws(StoreError) in
        try session.first("SELECT ?1, typeof(?1)", [value]) { row -> Value in
          switch row.text(1) {
          case "integer": .integer(Int64(row.int(0)))
          case "real": .real(row.real(0))
          case "text": .text(row.text(0))
          case "blob": .blob(row.blob(0))
          default: .null
          }
        }
      }
      #expect(back == value)
    }
  }

  @Test func `Values of one statement stay apart, whatever their sizes, also while it is used once more inside itself`()
    async throws
  {
    let sql = "SELECT ?1, ?2, ?3 UNION ALL SELECT ?3, ?2, ?1"
    @Sendable func values(_ size: Int) -> [Value] {
      [.blob(Array(repeating: 1, count: size)), .text(String(repeating: "t", count: size)), .blob([7])]
    }
    try await withNotes { database, _ in
      for size in [1, 3, 40_000, 0, 2, 70_000, 200_000, 5] {
        let rows = try await database.read { session throws(StoreError) in
          try session.query(sql, values(size)) { row throws(StoreError) in
            let inner = try session.query(sql, values(size + 1)) { [$0.blob(0).count, $0.text(1).utf8.count] }
            return [row.blob(0).count, row.text(1).utf8.count, row.blob(2).count] + inner.flatMap(\.self)
          }
        }
        let inner = [size + 1, size + 1, 1, size + 1]
        #expect(rows == [[size, size, 1] + inner, [1, size, size] + inner])
      }
    }
  }

  @Test func `Optionals and nulls`() async throws {
    try await withNotes { database, _ in
      let row = try await database.read { session throws(StoreError) in
        try session.first("SELECT NULL, 0, 1, 'x', x'01', 1.5") { row in
          [
            row.count == 6, row.isNull(0), !row.isNull(1),
            row.int(0) == 0, row.text(0) == "", row.blob(0) == [], row.real(0) == 0, !row.bool(0),
            row.optionalInt(0) == nil, row.optionalInt(1) == 0,
            row.optionalText(0) == nil, row.optionalText(3) == "x",
          ]
        }
      }
      #expect(row?.allSatisfy { $0 } == true)
    }
  }
}
