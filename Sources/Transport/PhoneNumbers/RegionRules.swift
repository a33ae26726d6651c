/// Regions and number types that may get messages.
public struct RegionRules: Sendable, Hashable {
  /// Region codes (`US`), calling codes for numbers without a region (`+883`), or `*` for all. Empty allows none.
  public var allowed: Set<String>
  /// Types of number that never get a message.
  public var refusedTypes: Set<NumberType>

  /// Types that cost the caller or share revenue with the owner, and so invite traffic pumping.
  public static let alwaysRefused = NumberOverrides.pricedTypes

  public init(allowed: Set<String>, refusedTypes: Set<NumberType> = []) {
    self.allowed = allowed
    self.refusedTypes = refusedTypes
  }

  /// Whether messages may go to a region, by its ``PhoneNumber/regionKey``.
  public func allows(_ region: String) -> Bool {
    allowed.contains(region) || allowed.contains("*")
  }

  /// Whether numbers of a type get no message.
  public func refuses(_ type: NumberType) -> Bool {
    Self.alwaysRefused.contains(type) || refusedTypes.contains(type)
  }
}

extension PhoneNumber {
  /// The name under which its region is allowed and budgeted. A number that is possible and not valid belongs to no
  /// region, and counts to the main one of its country code.
  public var regionKey: String {
    [region, countryCodeRegion].compactMap { $0 }.first { $0 != Self.noCountry } ?? "+\(countryCode)"
  }
}
