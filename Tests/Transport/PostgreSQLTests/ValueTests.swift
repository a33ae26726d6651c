import PostgreSQL
import Testing

@Suite struct ValueTests {
  static let integers: [Int64?] = [0, 1, -1, .max, .min, nil, 255, 256, -256]
  static let texts: [String?] = ["", "a", "Zoë 🦊", "\u{1}\u{7F}", "{\"a\",NULL}", nil, "a'b\"c\\d"]
  static let byteArrays: [[UInt8]?] = [[], [0], [0, 255, 0], nil, Array(0...255)]

  @Test func `Every kind of value comes back as it went`() async throws {
    let bools = [true, false, nil]
    try await withConnection { connection, _ in
      let integers = try await echo(Self.integers.map { .init($0) }, "bigint", on: connection)
      #expect(try integers.map { try $0[0].optionalInt(0) } == Self.integers.map { $0.map(Int.init) })
      let texts = try await echo(Self.texts.map { .init($0) }, "text", on: connection)
      #expect(try texts.map { try $0[0].optionalText(0) } == Self.texts)
      let byteArrays = try await echo(Self.byteArrays.map { .init($0) }, "bytea", on: connection)
      #expect(try byteArrays.map { try $0[0].optionalBytes(0) } == Self.byteArrays)
      let truths = try await echo(bools.map { .init($0) }, "boolean", on: connection)
      #expect(try truths.map { try $0[0].optionalInt(0) } == bools.map { $0.map { $0 ? 1 : 0 } })
    }
  }

  @Test func `Every kind of array comes back as it went`() async throws {
    try await withConnection { connection, _ in
      let integers = try await echo([.integers(Self.integers)], "bigint[]", on: connection)
      #expect(try integers[0][0].integers(0) == Self.integers)
      let texts = try await echo([.texts(Self.texts)], "text[]", on: connection)
      #expect(try texts[0][0].texts(0) == Self.texts)
      let byteArrays = try await echo([.byteArrays(Self.byteArrays)], "bytea[]", on: connection)
      #expect(try byteArrays[0][0].byteArrays(0) == Self.byteArrays)
    }
  }

  private func echo(
    _ values: [PostgreSQLValue], _ type: String, on connection: PostgreSQLConnection
  ) async throws -> [PostgreSQLRows] {
    try await connection.withSession { session throws(StoreError) in
      try session.run(values.map { PostgreSQLStatement("SELECT $1::\(type)", [$0]) })
    }
  }

  @Test func `Arrays may be empty or have 100,000 elements`() async throws {
    try await withConnection { connection, _ in
      let many = (0..<100_000).map { Int64($0) as Int64? }
      let row = try await connection.withSession { session throws(StoreError) in
        try session.run(
          "SELECT $1::bigint[], $2::text[], $3::bytea[], $4::bigint[], (SELECT sum(n)::bigint FROM unnest($4) AS n)",
          [.integers([]), .texts([]), .byteArrays([]), .integers(many)])[0]
      }
      #expect(try row.integers(0) == [])
      #expect(try row.texts(1) == [])
      #expect(try row.byteArrays(2) == [])
      #expect(try row.integers(3) == many)
      #expect(try row.int(4) == 4_999_950_000)
    }
  }

  @Test func `The integer types of the server read as integers`() async throws {
    try await withConnection { connection, _ in
      let row = try await connection.withSession { session throws(StoreError) in
        try session.run(
          "SELECT -2::smallint, -3::integer, true, 4294967295::oid, '{1,null}'::integer[], 'x'::varchar, 'y'::name")[0]
      }
      #expect(try row.int(0) == -2)
      #expect(try row.int(1) == -3)
      #expect(try row.int(2) == 1)
      #expect(try row.int(3) == 4_294_967_295)
      #expect(try row.integers(4) == [1, nil])
      #expect(try row.text(5) == "x")
      #expect(try row.text(6) == "y")
    }
  }

  @Test func `Integers go into columns of smaller types, and NULL before a value takes nothing from it`() async throws {
    try await withConnection { connection, _ in
      try await connection.execute("CREATE TABLE t (a integer, b smallint, c text)")
      let insert = "INSERT INTO t VALUES ($1, $2, $3)"
      try await connection.withSession { session throws(StoreError) in
        try session.run(insert, [.null, .null, .null])
        try session.run(insert, [1, .null, "a"])
        try session.run(insert, [.null, 2, .null])
        try session.run(insert, [3, 4, "b"])
      }
      #expect(try await connection.int("SELECT (sum(a) * 10 + sum(b))::bigint FROM t") == 46)
    }
  }

  @Test func `A text with U+0000 is refused here, and the connection goes on`() async throws {
    try await withConnection { connection, _ in
      for value in [PostgreSQLValue.text("a\0b"), .texts(["a", "\0"])] {
        let error = await failure { () throws(StoreError) in
          try await connection.withTransaction { session throws(StoreError) in
            try session.run("SELECT $1", [value])
          }
        }
        #expect(error?.code == .content)
      }
      let one = try await connection.int("SELECT 1")
      #expect(one == 1)
      #expect(connection.status.generation == 1)
    }
  }

  @Test func `A row, a column or a type that is not there is an error, never a trap`() async throws {
    try await withConnection { connection, _ in
      let rows = try await connection.withSession { session throws(StoreError) in
        try session.run("SELECT 1, 'a', NULL::bigint, 1.5::numeric, '{{1},{2}}'::bigint[], now()")
      }
      #expect(rows.count == 1 && rows.columnCount == 6)
      let accesses: [() throws -> Any] = [
        { try rows[1].int(0) }, { try rows[-1].int(0) }, { try rows[0].int(6) }, { try rows[0].int(-1) },
        { try rows[0].int(1) }, { try rows[0].text(0) }, { try rows[0].int(2) }, { try rows[0].int(3) },
        { try rows[0].bytes(1) }, { try rows[0].integers(4) }, { try rows[0].texts(0) }, { try rows[0].int(5) },
      ]
      for access in accesses {
        let error = #expect(throws: StoreError.self) { _ = try access() }
        #expect(error?.code == .unexpectedResult)
      }
      #expect(try rows[0].isNull(2))
      #expect(try rows[0].optionalInt(2) == nil)
    }
  }
}
