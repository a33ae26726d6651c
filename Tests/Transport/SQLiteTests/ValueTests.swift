import Testing

@testable import SQLite

@Suite struct ValueTests {
  static let values: [Value] = [
    .null, 0, -1, .integer(.max), .integer(.min), 1.5, .real(-.infinity), "", "text", "null\0inside", "日本語", .blob([]),
    .blob([0, 255]),
    true, Value(nil as Int?), Value(7), Value("x"), Value([1] as [UInt8]), Value(false), Value(2.5), Value(Int64(9)),
  ]

  @Test("A value comes back as it was", arguments: values)
  func aValueComesBackAsItWas(value: Value) async throws {
    try await withNotes { database, _ in
      let back = try await database.read { session throws(DatabaseError) in
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

  @Test("Optionals and nulls") func optionalsAndNulls() async throws {
    try await withNotes { database, _ in
      let row = try await database.read { session throws(DatabaseError) in
        try session.first("SELECT NULL, 0, 1, 'x', x'01', 1.5") { row in
          [
            row.count == 6, row.isNull(0), !row.isNull(1),
            row.int(0) == 0, row.text(0) == "", row.blob(0) == [], row.real(0) == 0, !row.bool(0),
            row.optionalInt(0) == nil, row.optionalInt(1) == 0, row.optionalBool(0) == nil, row.optionalBool(2) == true,
            row.optionalText(0) == nil, row.optionalText(3) == "x", row.optionalBlob(0) == nil,
            row.optionalBlob(4) == [1],
            row.optionalReal(0) == nil, row.optionalReal(5) == 1.5,
          ]
        }
      }
      #expect(row?.allSatisfy { $0 } == true)
    }
  }
}
