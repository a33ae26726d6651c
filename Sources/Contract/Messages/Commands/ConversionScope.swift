/// What a conversion is counted for. More may come.
public struct ConversionScope: OpenWord {
  public let rawValue: String

  public init(rawValue: String) {
    self.rawValue = rawValue
  }

  /// Numbers that differ in their last four digits only; the key is what they share: `+1415555`.
  public static let prefix = ConversionScope(rawValue: "prefix")
  /// A country; the key is its code (`US`), or the calling code of numbers without a country (`+883`).
  public static let region = ConversionScope(rawValue: "region")

  public static let known: [ConversionScope] = [.prefix, .region]
}
