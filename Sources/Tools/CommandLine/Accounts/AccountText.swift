import CountersignMessages
import CountersignTelemetry

enum AccountText {
  static func table(_ accounts: [AccountView]) -> String {
    var table = TextTable("UID", "EMAIL", "PHONE", "PROVIDERS", "STATE", "LAST SIGN-IN")
    table.rows = accounts.map { account in
      [
        account.localID, account.email ?? "", account.phoneNumber ?? "", ways(account).joined(separator: ", "),
        account.disabled ? "disabled" : "enabled", account.lastLoginAt.rfc3339,
      ]
    }
    return table.text
  }

  static func details(_ account: AccountView) -> String {
    let verified = account.emailVerified == true ? " (verified)" : " (not verified)"
    let rows: [(String, String?)] = [
      ("UID", account.localID), ("name", account.displayName), ("picture", account.photoURL),
      ("email", account.email.map { $0 + verified }), ("phone", account.phoneNumber),
      ("signs in by", ways(account).isEmpty ? nil : ways(account).joined(separator: ", ")),
      ("state", account.disabled ? "disabled" : "enabled"), ("claims", account.customAttributes),
      ("created", account.createdAt.rfc3339), ("last sign-in", account.lastLoginAt.rfc3339),
      ("last refresh", account.lastRefreshAt?.rfc3339), ("valid since", account.validSince.rfc3339),
    ]
    let lines = rows.compactMap { name, value in value.map { pad(name) + TerminalText.line($0) } }
    let identities = (account.identities ?? []).map { identity in
      pad("identity")
        + TerminalText.line(
          [identity.providerID, identity.subject, identity.email ?? ""].filter { !$0.isEmpty }.joined(separator: "  "))
    }
    let factors = (account.secondFactors ?? []).map { factor in
      pad("second factor")
        + TerminalText.line(
          [
            factor.kind.rawValue, factor.phoneNumber.map(Redaction.phoneNumber) ?? "", factor.displayName ?? "",
            factor.enrollmentID, "since \(factor.enrolledAt.rfc3339)",
          ].filter { !$0.isEmpty }.joined(separator: "  "))
    }
    return (lines + identities + factors).joined(separator: "\n")
  }

  private static func pad(_ name: String) -> String { name + String(repeating: " ", count: max(1, 14 - name.count)) }

  private static func ways(_ account: AccountView) -> [String] {
    var ways = (account.identities ?? []).map(\.providerID)
    if account.phoneNumber != nil { ways.append("phone") }
    if account.passwordChangedAt != nil { ways.append("password") }
    if account.signsInByLink == true { ways.append("emailLink") }
    return ways
  }
}
