/// A data type by its number in the server's catalog (src/include/catalog/pg_type.dat), where the numbers of built-in
/// types never change.
struct ServerType: Sendable, Hashable, CustomStringConvertible {
  let number: UInt32

  /// Left to the server to infer.
  static let unspecified = ServerType(number: 0)
  static let bool = ServerType(number: 16)
  static let bytea = ServerType(number: 17)
  static let char = ServerType(number: 18)
  static let name = ServerType(number: 19)
  static let int8 = ServerType(number: 20)
  static let int2 = ServerType(number: 21)
  static let int4 = ServerType(number: 23)
  static let text = ServerType(number: 25)
  static let oid = ServerType(number: 26)
  static let unknown = ServerType(number: 705)
  static let bpchar = ServerType(number: 1042)
  static let varchar = ServerType(number: 1043)
  static let int8Array = ServerType(number: 1016)
  static let textArray = ServerType(number: 1009)
  static let byteaArray = ServerType(number: 1001)

  private static let names: [ServerType: String] = [
    bool: "boolean", bytea: "bytea", char: "\"char\"", name: "name", int8: "bigint", int2: "smallint",
    int4: "integer", text: "text", oid: "oid", unknown: "unknown", bpchar: "char", varchar: "varchar",
    int8Array: "bigint[]", textArray: "text[]", byteaArray: "bytea[]",
  ]

  var description: String { Self.names[self] ?? "number \(number)" }
}
