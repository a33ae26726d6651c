import CountersignCryptography
import CountersignEncoding
import CountersignMessages

/// Comparison of an OpenID Connect provider with what it says of itself.
struct ProviderFindings: Sendable {
  static let implicitWarning =
    "the implicit flow is set although the provider offers the code flow, whose tokens never pass the browser: use --flow code"
  private static let algorithms: Set = [SignatureAlgorithm.rs256.rawValue, SignatureAlgorithm.es256.rawValue]
  private static let place = "/.well-known/openid-configuration"

  let view: ProviderView
  /// `nil` where it is not known.
  let returnAddress: String?
  let probe: any HTTPProbe

  func all() async -> [Finding] {
    let discovery: [String: JSONValue]
    do throws(CommandLineError) { discovery = try await self.discovery() } catch {
      return [
        state,
        Finding(
          "discovery", .failed, "\(discoveryURL): \(error.description)",
          hint: "check the issuer, and the way from here to there; an own authority goes into --ca-file"),
      ]
    }
    var findings = [state, issuer(discovery), flow(discovery), algorithm(discovery), await keys(discovery)]
    if view.usesCodeFlow { findings.append(authentication(discovery)) }
    for client in view.clients { findings.append(await page(of: client.clientID, discovery)) }
    return findings
  }

  /// Whether the discovery can be read, and lists the code flow.
  func offersCode() async -> Bool {
    do throws(CommandLineError) { return Self.responseTypes(try await discovery()).contains("code") } catch {
      return false
    }
  }

  // MARK: Discovery

  private var discoveryURL: String {
    (view.issuer.hasSuffix("/") ? String(view.issuer.dropLast()) : view.issuer) + Self.place
  }

  private func discovery() async throws(CommandLineError) -> [String: JSONValue] { try await object(discoveryURL) }

  private func object(_ url: String) async throws(CommandLineError) -> [String: JSONValue] {
    let answer = try await probe.get(url)
    guard answer.status == 200 else { throw CommandLineError(.unavailable, "it answers \(answer.status)") }
    let value: JSONValue
    do throws(JSONRefusal) { value = try JSONReader.commandLine.value(of: answer.body) } catch {
      throw CommandLineError(.badInput, "it answers no JSON")
    }
    guard let members = value.members else { throw CommandLineError(.badInput, "it answers no JSON object") }
    return members
  }

  private static func texts(_ value: JSONValue?) -> [String]? {
    guard case .array(let values)? = value else { return nil }
    return values.compactMap(\.text)
  }

  private static func responseTypes(_ discovery: [String: JSONValue]) -> Set<String> {
    Set(texts(discovery["response_types_supported"]) ?? [])
  }

  // MARK: Findings

  private var state: Finding {
    view.enabled
      ? Finding("provider", .ok, "\(view.providerID) is on")
      : Finding(
        "provider", .warning, "\(view.providerID) is off",
        hint: view.isFromFile
          ? "countersign project enable PROJECT \(view.providerID)" : "add it again with --replace and without --off")
  }

  private func issuer(_ discovery: [String: JSONValue]) -> Finding {
    let named = discovery["issuer"]?.text ?? ""
    guard named != view.issuer else { return Finding("issuer", .ok, named) }
    return Finding(
      "issuer", .failed, "is \(view.issuer) here, and '\(named)' there",
      hint: "set it to the text there, to the last character")
  }

  private func flow(_ discovery: [String: JSONValue]) -> Finding {
    let offered = Self.responseTypes(discovery)
    let missing = (["authorization_endpoint"] + (view.usesCodeFlow ? ["token_endpoint"] : [])).filter {
      discovery[$0]?.text == nil
    }
    guard missing.isEmpty else {
      return Finding("flow", .failed, "the discovery has no \(missing.joined(separator: " and no "))")
    }
    let wanted = view.usesCodeFlow ? "code" : "id_token"
    guard offered.contains(wanted) else {
      let list = offered.sorted().joined(separator: ", ")
      return Finding(
        "flow", .failed, "the provider does not offer \(wanted), but: \(list.isEmpty ? "nothing" : list)",
        hint: "use --flow \(view.usesCodeFlow ? "idToken" : "code")")
    }
    if !view.usesCodeFlow, offered.contains("code") { return Finding("flow", .warning, Self.implicitWarning) }
    return Finding("flow", .ok, wanted)
  }

  private func algorithm(_ discovery: [String: JSONValue]) -> Finding {
    let offered = Self.texts(discovery["id_token_signing_alg_values_supported"]) ?? []
    let usable = offered.filter(Self.algorithms.contains)
    guard usable.isEmpty else { return Finding("algorithms", .ok, usable.joined(separator: ", ")) }
    return Finding(
      "algorithms", .failed,
      "ID tokens are signed with \(offered.isEmpty ? "no algorithm that the discovery names" : offered.joined(separator: ", "))",
      hint: "have the provider sign them with \(Self.algorithms.sorted().joined(separator: " or "))")
  }

  private func keys(_ discovery: [String: JSONValue]) async -> Finding {
    guard let url = discovery["jwks_uri"]?.text else {
      return Finding("keys", .failed, "the discovery has no jwks_uri")
    }
    let set: [String: JSONValue]
    do throws(CommandLineError) { set = try await object(url) } catch {
      return Finding("keys", .failed, "\(url): \(error.description)")
    }
    guard case .array(let all)? = set["keys"] else { return Finding("keys", .failed, "\(url) has no key set") }
    let usable = all.filter { key in
      let members = key.members ?? [:]
      return members["use"]?.text != "enc" && (members["kty"]?.text == "RSA" || members["crv"]?.text == "P-256")
    }
    return usable.isEmpty
      ? Finding("keys", .failed, "\(url) has no RSA key and no key of P-256 among \(all.count)")
      : Finding("keys", .ok, "\(usable.count) at \(url)")
  }

  /// RFC 8414, section 2: the method is `client_secret_basic` unless the discovery lists some.
  private func authentication(_ discovery: [String: JSONValue]) -> Finding {
    let name = "client authentication"
    let offered = Set(Self.texts(discovery["token_endpoint_auth_methods_supported"]) ?? ["client_secret_basic"])
    let without = view.clients.filter { !$0.hasSecret }.map(\.clientID)
    if without.count < view.clients.count, offered.isDisjoint(with: ["client_secret_basic", "client_secret_post"]) {
      return Finding(
        name, .failed, "the provider takes no secrets of clients, but: \(offered.sorted().joined(separator: ", "))")
    }
    if !without.isEmpty, !offered.contains("none") {
      return Finding(
        name, .failed, "there is no secret of \(without.joined(separator: ", ")), and the provider asks for one",
        hint: view.isFromFile ? "put it into providerSecretsFile of accounts" : "give it with --secret-file")
    }
    return Finding(
      name, .ok, without.isEmpty ? "by secret" : "without a secret for \(without.joined(separator: ", "))")
  }

  // MARK: Page

  /// RFC 6749, section 4.1.2.1: a client or return address that is not registered is told to the user, not sent back.
  private func page(of client: String, _ discovery: [String: JSONValue]) async -> Finding {
    let name = "client \(client)"
    guard let page = discovery["authorization_endpoint"]?.text else {
      return Finding(name, .skipped, "the discovery has no authorization_endpoint")
    }
    guard let returnAddress else {
      return Finding(name, .skipped, "the return address is not known here", hint: "give --auth-domain")
    }
    let answer: HTTPProbeAnswer
    do throws(CommandLineError) { answer = try await probe.get(address(page, client, returnAddress)) } catch {
      return Finding(name, .failed, "\(page): \(error.description)")
    }
    if answer.status >= 400 {
      return Finding(
        name, .failed, "the provider's page answers \(answer.status) for the client with \(returnAddress)",
        hint: "enter the return address at the provider, and compare the client ID")
    }
    if let location = answer.location, location.hasPrefix(returnAddress), let error = Self.error(in: location) {
      return Finding(name, .failed, "the provider's page refuses it: \(error)", hint: "allow flow and scopes there")
    }
    return Finding(name, .ok, "the page opens with \(returnAddress)")
  }

  private func address(_ page: String, _ client: String, _ returnAddress: String) -> String {
    let members = [
      ("client_id", client), ("redirect_uri", returnAddress),
      ("response_type", view.usesCodeFlow ? "code" : "id_token"),
      ("scope", (["openid"] + (view.scopes ?? [])).joined(separator: " ")), ("state", "check"), ("nonce", "check"),
    ]
    let query = members.map { "\($0)=\(PercentEncoding.encode($1))" }.joined(separator: "&")
    return page + (page.contains("?") ? "&" : "?") + query
  }

  /// The word of an error in the query or fragment of an address, as far as it is one.
  private static func error(in location: String) -> String? {
    let rest = location.drop { $0 != "?" && $0 != "#" }.dropFirst()
    let fields = FormEncoding.decode(Array(rest.utf8))
    guard let word = fields.first(where: { $0.name == "error" })?.value else { return nil }
    return word.utf8.allSatisfy { (0x61...0x7A).contains($0) || $0 == 0x5F } ? word : "an error"
  }
}
