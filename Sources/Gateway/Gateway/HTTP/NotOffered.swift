extension Route {
  /// Calls of the protocol that are not offered, so that their clients are told 501 and not 404.
  static let notOffered: [Route] = appCalls + administratorCalls

  private static let appCalls: [Route] = [
    missing("signInWithGameCenter", "accounts:signInWithGameCenter", old: "signInWithGameCenter"),
    missing("issueSamlResponse", "accounts:issueSamlResponse", old: nil),
    missing("signOutUser", "accounts:signOutUser", old: "signOutUser"),
    notOffered(
      "v2",
      [
        "\(HostPrefix.identity)/v2/accounts/passkeyEnrollment:start",
        "\(HostPrefix.identity)/v2/accounts/passkeyEnrollment:finalize",
        "\(HostPrefix.identity)/v2/accounts/passkeySignIn:start",
        "\(HostPrefix.identity)/v2/accounts/passkeySignIn:finalize",
        "\(HostPrefix.identity)/v2/defaultSupportedIdps",
      ]),
  ]

  private static let administratorCalls: [Route] = [
    notOffered(
      "administration",
      [
        "\(HostPrefix.identity)/v1/projects/*", "\(HostPrefix.identity)/v2/projects/*",
        "\(HostPrefix.relyingParty)/setProjectConfig",
      ], .administrationNotOffered)
  ]

  private static func missing(_ name: String, _ path: String, old: String?) -> Route {
    let paths = ["\(HostPrefix.identity)/v1/\(path)"] + (old.map { ["\(HostPrefix.relyingParty)/\($0)"] } ?? [])
    return notOffered(name, paths)
  }
}
