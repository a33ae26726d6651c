import CountersignCryptography
import CountersignTelemetry

@testable import Push

extension Sample {
  static let accountEmail = "push@my-project.iam.gserviceaccount.com"
  static let accountKeyID = "0123456789abcdef0123456789abcdef01234567"
  static let tokenURI = "https://oauth2.googleapis.com/token"

  static let rsaKeyFile = """
    -----BEGIN PRIVATE KEY-----
    MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQCNmi495TAFcsBV
    s41QBO7WWQs2W+nvcdp5nhSnyR7tQ81BCHMjtaeD8RAjyqs3JoF8HCa2n+0+Buva
    jgE/nI90WJRVSPhO0YxFzl0gEmk4UhtKyCTYNTFiSY5OP737wWdmavpmuimjGxBG
    KBRiw+jAMbr9R6Pupv5tlEjE5DhY3mDSXtqi4VhrQLCO8hYxUq5JMfQsu5Q8r95K
    vMpxAtM5gCdGpe2BlsH3ydryZR+/WgEf4Fk698TYEUAAhMyWic+udIz2pJiF9Gtw
    2f2YjvxSclCPIU4wKAK0yD4YP2HVCTKAMByfWz+5YCoABx7Sia88pMyx0z1D9pUZ
    mFJBXkojAgMBAAECggEACTdbQiEMHpao6QsOLAKeLupNvgR+ddyxrQ+6ZW9EKYor
    rktn/w+ALyi99a5ntWe2rsbASEuha9OUfz2V3DeK6LYpNWHR84NU/2gejItWONmz
    OAtNxpqzs6N49SPV8DBW1AYrdQsx0ZFd3ksWhJUerX+vHXQPueU5kxU/JT17Y2FB
    H7voXS5WznyN0coTy71q+6Klss8ZY4pnR3s8iVRpRBKTuOknbTmrXyblbUN/D5ux
    Ge8ouK6krAlk471VrlZV6X8zKhfHc57KcNvdcLjgrknSgiLUtTbox3YseYWeAm12
    7wbIuhM6sGcjR2HR2hEQw0Xw+p7z/VRLNgs9KUd2ZQKBgQDA0fb4Ho+tz+4u6DhN
    zGTE4cx7cEp4/AC1G9Wlq/F+LCa/XwIpBNRvHhM3opXkvlfitxZZXcmAEbfk/67V
    05RKhO7dacsXnIWuRYKHJwhybLmo+xkzAqtMOi9zBk4LYKYgztBACPXZELNohd2j
    +CQcmtEynOj6HkoJATmsZDyxhwKBgQC7//vZcvZKzQ3jqt9/fDuensig8yEAr+CJ
    AZ6c29ErQG7BB6p4F/xaixNrKCSso4R96vqiKGtfxXmPB4tO6lQuW8d76yOH+EWn
    bzOsyHhhb7LnvQCku4n6EKuzxaBX+3xIydkcEDO4uTCSJy71FVZ9J+vF+t8+HmzO
    sXHPkvk5hQKBgG+KRhpb23OJX9gkn0Vp4jT+BYK2f24jIOmjc2CF6Ym6UqPLev1t
    fNHWjPlXBOywqzhL/xKtLT33gfBnc6Tf4t2EroTIiSJcefxI22wBSWKfwHqe3oHi
    nmLXGdGpKQZt30wFNvSD+muZvJ7PKVqL1Z/ycuebWy4szVkOK2WtCmsLAoGAfVrz
    4IuCZGAUOdFvE3+P9XVky8UyJVYgvtogm/EKqO9eqkFlToyXzPvdJ99tjNu/dYKg
    Ok3/Qq3XHyLlpeoj1YGHIz6nw3stXraMW1KUykuDnHfvHOib2O0SwF0vTFs5BQPq
    S4cWJb79/wY3jl36/JsI4EsmXjJFVREGlWUn300CgYEAqn/dgsRfjtYPmxEiVNVU
    5MBVvBiwZEE/dz2tfuOHYbv2XYp+xKftrNwABmkYfGsYpF2H541yUk4oLDN59cR4
    bvB21/LAyzMkmhMZyIYGoXWTM3ijNHYVuryAorBeML72jqq9+D/FPYsryXhTmal+
    d7Ci1AZpc7cU80O7wZVRUsE=
    -----END PRIVATE KEY-----
    """

  /// The file of a service account's key as Google hands it out. Nil leaves a member out.
  static func accountFile(_ changes: [String: String?] = [:]) -> String {
    let members: [(name: String, value: String)] = [
      ("type", "service_account"), ("project_id", "my-project"), ("private_key_id", accountKeyID),
      ("private_key", rsaKeyFile + "\n"), ("client_email", accountEmail), ("client_id", "104727004242420010001"),
      ("auth_uri", "https://accounts.google.com/o/oauth2/auth"), ("token_uri", tokenURI),
      ("universe_domain", "googleapis.com"),
    ]
    let texts = members.compactMap { member -> String? in
      guard let value = changes[member.name] ?? member.value else { return nil }
      return "\"\(member.name)\": \"\(value.replacing("\n", with: "\\n"))\""
    }
    return "{\n  \(texts.joined(separator: ",\n  "))\n}"
  }

  static func account() throws(ServiceAccountProblem) -> ServiceAccount {
    try ServiceAccount(file: Secret(accountFile()))
  }
}
