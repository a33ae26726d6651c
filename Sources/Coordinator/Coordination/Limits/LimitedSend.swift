/// A requested SMS, as the limits see it.
struct LimitedSend: Sendable, Hashable {
  /// E.164.
  var number: String
  /// The region of the number, or its calling code if it has none.
  var region: String
  /// Whether the type of the number is unknown: possible, but not in the metadata.
  var isUnknownType: Bool
  /// Address of the client, if the service states it.
  var address: ClientAddress?
  /// The device that proved its app, if any.
  var device: TokenHash?

  /// The number without its last four digits: the shared part of an artificially inflated block of numbers.
  var prefix: String { Self.prefix(of: number) }

  /// The prefix of a number.
  static func prefix(of number: String) -> String { String(number.dropLast(4)) }
}
