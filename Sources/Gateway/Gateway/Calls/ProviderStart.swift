import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import Projects

/// Begin of a sign-in at the page of a provider.
struct ProviderStart: Sendable {
  let backend: Backend

  /// Address of the provider's page. Suspends while accounts asks the provider where that is.
  func address(
    of provider: String, _ request: PageRequest, returningTo redirectURI: String, _ app: ProjectApp?, _ call: Call
  ) async throws(ProtocolError) -> String {
    let project = try call.project()
    try project.requireProvider(provider)
    let exchange = backend.exchange(StartIDPSignIn.self)
    var command = StartIDPSignIn(
      project: project.id, providerID: provider, redirectURI: redirectURI, request: try exchange.seal(request),
      replyKey: backend.replyKey)
    command.app = app?.id
    command.client = call.client.field
    let reply: IDPSignInStarted
    do throws(ProtocolError) {
      reply = try await exchange.ask(command, timeout: Broker.startTimeout)
    } catch {
      throw error.ofProvider
    }
    let address = try exchange.open(reply.authURI).reveal()
    guard address.hasPrefix("https://") || address.hasPrefix("http://") else { throw .internalError }
    return address
  }

  // MARK: createAuthUri

  /// The page of a provider that returns to the app's own page.
  func createAuthURI(_ call: Call, _ provider: String, _ session: String?) async throws(ProtocolError) -> CallAnswer {
    let page = try call.body.secret("continueUri", else: "INVALID_CONTINUE_URI", missing: "MISSING_CONTINUE_URI")
    let session = session ?? SessionID.make()
    var request = PageRequest(sessionHash: SessionID.hash(session))
    request.scopes = try PageExtras.scopes(try call.body.text("oauthScope"))
    request.parameters = try PageExtras.parameters(try call.body.textMap("customParameter"))
    let address = try await address(
      of: provider, request, returningTo: try Self.redirectURI(page, of: call.project()), call.app, call)
    var answer = CallAnswer(kind: AnswerKind.createAuthURI)
    answer.put("authUri", address)
    answer.put("providerId", provider)
    answer.put("sessionId", session)
    return answer
  }

  /// Providers know addresses without a query, and they add theirs.
  private static func redirectURI(_ page: String, of project: Project) throws(ProtocolError) -> String {
    guard !page.contains(where: { "?#".contains($0) }) else {
      throw .account("INVALID_CONTINUE_URI", "Query and fragment are the provider's to add.")
    }
    do throws(ContinuePage.Problem) {
      return try ContinuePage(page, of: project).url
    } catch .foreignHost {
      throw .account("UNAUTHORIZED_DOMAIN", "Domain not allowlisted by project")
    } catch {
      throw .account("INVALID_CONTINUE_URI")
    }
  }
}

/// Text that an app brings with the answer of a provider's page. Its hash begins the page's flow, so that no one else can
/// bring the answer.
enum SessionID {
  private static let randomBytes = 32
  static let hashLength = 2 * SHA256.length

  static func make() -> String { Base64URL.encode(SecureRandom.bytes(randomBytes)) }

  static func hash(_ session: String) -> String { Hexadecimal.encode(SHA256.hash(Array(session.utf8))) }

  /// A hash as the Apple SDK sends it. `nil` for another text.
  static func readHash(_ text: String) -> String? {
    let hash = text.lowercased()
    return hash.utf8.count == hashLength && Hexadecimal.decode(hash) != nil ? hash : nil
  }
}

/// Scopes and parameters that an app adds to the address of a provider's page, within the bounds of accounts, which drops
/// the parameters that are its own.
enum PageExtras {
  /// - Parameter text: scopes apart by commas, as SDKs send them, or by spaces (RFC 6749, section 3.3).
  static func scopes(_ text: String?) throws(ProtocolError) -> [String]? {
    guard let text else { return nil }
    let scopes = text.split { $0 == "," || $0 == " " }.map(String.init)
    guard scopes.count <= OpenIDForms.maxScopes, scopes.allSatisfy(OpenIDForms.isScope) else {
      throw .badField("scopes", expected: "at most \(OpenIDForms.maxScopes) scopes of OAuth")
    }
    return scopes.isEmpty ? nil : scopes
  }

  static func parameters(_ fields: [String: String]?) throws(ProtocolError) -> [String: String]? {
    guard let fields, !fields.isEmpty else { return nil }
    guard fields.count <= OpenIDForms.maxParameters,
      fields.allSatisfy({ OpenIDForms.isParameterName($0.key) && OpenIDForms.isParameterValue($0.value) })
    else { throw .badField("customParameters", expected: "at most \(OpenIDForms.maxParameters) short texts") }
    return fields
  }
}

extension Project {
  /// Whether a provider is on. An OpenID Connect provider is where its configuration says so, which accounts has.
  func requireProvider(_ id: String) throws(ProtocolError) {
    guard OpenIDForms.isID(id) || methods.contains(.provider(id)) else { throw .providerOff }
  }
}

extension ProtocolError {
  static let providerOff = account(
    "OPERATION_NOT_ALLOWED", "The identity provider configuration is not found.")

  /// The error of a provider that accounts has switched off or does not have.
  var ofProvider: ProtocolError { self == .methodOff ? .providerOff : self }
}
