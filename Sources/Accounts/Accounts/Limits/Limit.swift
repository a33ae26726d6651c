/// A limit of a project's accounts: what is counted for whom, up to which figure within an hour.
///
/// The table is ``all``. To add one: a row there, in the list of its action, and the question to ``LimitBench`` where
/// the action is decided. Configuration, counter, metric and error follow from the row.
struct Limit: Sendable {
  /// Parts of the name of a counter, beside the project. A command without one of them shares a counter with its like.
  enum Part: Sendable {
    /// IPv4 address, or IPv6 /64.
    case address
    /// IPv4 /24, or IPv6 /48.
    case network
    /// Whether an account has it or not.
    case mailAddress
    case account
    /// Of an account.
    case secondFactor
  }

  /// Key in the section `limits` of the configuration.
  let key: String
  /// Value of the label `limit` of the metric.
  let label: String
  /// Name of its counter: never changes its meaning.
  let counter: StaticString
  let parts: [Part]
  let figure: Int
  /// Distinguishes the limits of one action from those of others, in errors.
  let reason: String
  let help: String
  let text: String
  /// Whether ``Limits/networkFactor`` times the figure of the key is meant.
  var isOfNetwork = false

  var field: String? { parts.contains(.address) || parts.contains(.network) ? "client.ip" : nil }

  init(
    _ key: String, _ label: String, _ figure: Int, counter: StaticString, of parts: [Part], reason: String,
    help: String, text: String
  ) {
    (self.key, self.label, self.figure, self.counter, self.parts) = (key, label, figure, counter, parts)
    (self.reason, self.help, self.text) = (reason, help, text)
  }

  /// The same for the network around the address.
  private func ofNetwork(_ label: String, counter: StaticString, text: String) -> Limit {
    var limit = Limit(key, label, figure, counter: counter, of: [.network], reason: reason, help: help, text: text)
    limit.isOfNetwork = true
    return limit
  }
}

extension Limit: Hashable {
  static func == (left: Limit, right: Limit) -> Bool { left.label == right.label }

  func hash(into hasher: inout Hasher) { hasher.combine(label) }
}

// MARK: - The table

extension Limit {
  static let all =
    anonymous + [anonymousPerDay] + passwordAccounts + pageSignIns + mailLinks + wrongPasswords
    + [secondFactorStartsPerAccount] + secondFactorStarts + [totpSecrets, wrongTOTPCodes]

  static let anonymous = [anonymousPerAddress, anonymousPerNetwork]
  static let passwordAccounts = [passwordAccountsPerAddress, passwordAccountsPerNetwork]
  static let pageSignIns = [pageSignInsPerAddress, pageSignInsPerNetwork]
  static let mailLinks = [mailLinksPerMailAddress, mailLinksPerNetwork, mailLinksPerProject]
  /// Those of the client. That of the account counts what the coordinator starts.
  static let secondFactorStarts = [secondFactorStartsPerAddress, secondFactorStartsPerNetwork]
  static let wrongPasswords = [wrongPasswordsPerNetworkAndMailAddress, wrongPasswordsPerNetwork] + [slowingPasswords]
}

// MARK: New accounts

extension Limit {
  static let anonymousPerAddress = Limit(
    "anonymousPerAddressPerHour", "anonymous_address", 100, counter: "anonymous sign-ups", of: [.address],
    reason: "ANONYMOUS_LIMIT", help: "Anonymous accounts that one address may make within an hour.",
    text: "too many anonymous accounts were made from this address within an hour")

  private static let anonymousPerNetwork = anonymousPerAddress.ofNetwork(
    "anonymous_network", counter: "anonymous sign-ups of a network",
    text: "too many anonymous accounts were made from the network of this address within an hour")

  /// Of a day in UTC, and more where more are usual: see ``SignUpLimits``.
  static let anonymousPerDay = Limit(
    "anonymousPerDay", "anonymous_day", 10_000, counter: "anonymous sign-ups of a day", of: [],
    reason: "ANONYMOUS_LIMIT",
    help: "Anonymous accounts of a project on a day in UTC; ten times the median of the seven days before where that "
      + "is more.",
    text: "more anonymous accounts than usual were made today, several of them from this network")

  static let passwordAccountsPerAddress = Limit(
    "passwordAccountsPerAddressPerHour", "password_accounts_address", 100, counter: "password sign-ups",
    of: [.address], reason: "SIGN_UP_LIMIT",
    help: "Accounts with a password that one address may make, and mail addresses that it may put on accounts, within "
      + "an hour.",
    text: "too many accounts were made from this address within an hour")

  private static let passwordAccountsPerNetwork = passwordAccountsPerAddress.ofNetwork(
    "password_accounts_network", counter: "password sign-ups of a network",
    text: "too many accounts were made from the network of this address within an hour")
}

// MARK: Pages of providers

extension Limit {
  static let pageSignInsPerAddress = Limit(
    "pageSignInsPerAddressPerHour", "page_sign_ins_address", 300, counter: "page sign-ins", of: [.address],
    reason: "PAGE_LIMIT",
    help: "Sign-ins at the pages of identity providers that one address may begin within an hour.",
    text: "too many sign-ins at pages of providers were begun from this address within an hour")

  private static let pageSignInsPerNetwork = pageSignInsPerAddress.ofNetwork(
    "page_sign_ins_network", counter: "page sign-ins of a network",
    text: "too many sign-ins at pages of providers were begun from the network of this address within an hour")
}

// MARK: Second factors

extension Limit {
  static let secondFactorStartsPerAccount = Limit(
    "secondFactorStartsPerAccountPerHour", "second_factor_starts_account", 10,
    counter: "second factor starts of an account", of: [.account], reason: secondFactors,
    help: "Codes for second factors that an account may be sent within an hour.",
    text: "too many codes for second factors were asked for by this account within an hour")

  static let secondFactorStartsPerAddress = Limit(
    "secondFactorStartsPerAddressPerHour", "second_factor_starts_address", 100, counter: "second factor starts",
    of: [.address], reason: secondFactors,
    help: "Codes for second factors that one address may ask for within an hour.",
    text: "too many codes for second factors were asked for from this address within an hour")

  private static let secondFactorStartsPerNetwork = secondFactorStartsPerAddress.ofNetwork(
    "second_factor_starts_network", counter: "second factor starts of a network",
    text: "too many codes for second factors were asked for from the network of this address within an hour")

  static let totpSecrets = Limit(
    "totpSecretsPerAccountPerHour", "totp_secrets_account", 10, counter: "TOTP secrets of an account", of: [.account],
    reason: secondFactors, help: "Secrets of authenticators that an account may ask for within an hour.",
    text: "too many secrets of authenticators were asked for by this account within an hour")

  private static let secondFactors = "SECOND_FACTOR_LIMIT"
}

// MARK: Mails

extension Limit {
  static let mailLinksPerMailAddress = Limit(
    "mailLinksPerMailAddressPerHour", "mail_links_mail_address", 5, counter: "mail links to an address",
    of: [.mailAddress], reason: "MAIL_LIMIT", help: "Links that are mailed to one address within an hour.",
    text: "no more mails go to this address for now")

  static let mailLinksPerNetwork = Limit(
    "mailLinksPerNetworkPerHour", "mail_links_network", 50, counter: "mail links of a network", of: [.network],
    reason: "MAIL_LIMIT", help: "Links that one network, an IPv4 /24 or IPv6 /48, may have mailed within an hour.",
    text: "too many mails were requested from the network of this address within an hour")

  static let mailLinksPerProject = Limit(
    "mailLinksPerProjectPerHour", "mail_links_project", 1_000, counter: "mail links of a project", of: [],
    reason: "MAIL_LIMIT", help: "Links that a project mails within an hour.",
    text: "too many mails were requested within an hour")
}

// MARK: Passwords

extension Limit {
  static let wrongPasswordsPerNetworkAndMailAddress = Limit(
    "wrongPasswordsPerNetworkAndMailAddressPerHour", "wrong_passwords", 10, counter: "wrong passwords of a network",
    of: [.network, .mailAddress], reason: passwords,
    help: "Wrong passwords for one mail address from one network within an hour.",
    text: "too many wrong passwords for this account came from the network of this address within an hour")

  static let wrongPasswordsPerNetwork = Limit(
    "wrongPasswordsPerNetworkPerHour", "wrong_passwords_network", 300, counter: "wrong passwords for all",
    of: [.network], reason: passwords, help: "Wrong passwords for all mail addresses from one network within an hour.",
    text: "too many wrong passwords came from the network of this address within an hour")

  /// Does not refuse: see ``WrongPasswords``.
  static let slowingPasswords = Limit(
    "wrongPasswordsBeforePausesPerHour", "wrong_passwords_pause", 5, counter: "wrong passwords", of: [.mailAddress],
    reason: passwords,
    help: "Wrong passwords for one mail address within an hour after which each costs a pause of 1 to 30 s.",
    text: "several wrong passwords were sent for this account")

  private static let passwords = "WRONG_PASSWORDS"
}

// MARK: Second factors

extension Limit {
  /// Beyond it the factor is locked for an hour: see ``WrongCodes``.
  static let wrongTOTPCodes = Limit(
    "wrongTOTPCodesPerFactorPerHour", "wrong_totp_codes", 10, counter: "wrong TOTP codes", of: [.secondFactor],
    reason: "WRONG_CODES",
    help: "Wrong codes of one authenticator within an hour, which lock it for an hour.",
    text: "too many wrong codes of this authenticator were sent within an hour: it is locked for an hour")
}
