/// How the characters of a short message are put into its 140 octets.
public enum SMSEncoding: String, Sendable, Hashable, CaseIterable {
  /// The GSM 7 bit default alphabet with its extension table (3GPP TS 23.038, 6.2.1 and 6.2.1.1). One unit is a septet.
  case gsm7

  /// UCS-2, in practice UTF-16 (3GPP TS 23.038, 6.2.3). One unit is a 16 bit code unit.
  case ucs2

  /// The units of a message that is sent alone.
  public var singleLimit: Int {
    switch self {
    case .gsm7: 160
    case .ucs2: 70
    }
  }

  /// The units of each part of a longer message: 6 octets go to the concatenation header (3GPP TS 23.040, 9.2.3.24.1).
  public var partLimit: Int {
    switch self {
    case .gsm7: 153
    case .ucs2: 67
    }
  }
}
