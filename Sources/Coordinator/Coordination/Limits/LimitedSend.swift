/// A message that somebody wants sent, as the limits see it.
struct LimitedSend: Sendable, Hashable {
  /// E.164.
  var number: String
  /// The region of the number, or its calling code where it has none.
  var region: String
  /// Whether the type of the number is unknown: possible, but not in the metadata.
  var isUnknownType: Bool
  /// Where the request came from, if the caller says so.
  var address: ClientAddress?
  /// The device that proved its app, if one did.
  var device: TokenHash?

  /// The number without its last four digits: what an artificially inflated block of numbers shares.
  var prefix: String { Self.prefix(of: number) }

  /// The prefix of a number.
  static func prefix(of number: String) -> String { String(number.dropLast(4)) }
}
