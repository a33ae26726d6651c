import CountersignMessages
import CountersignTelemetry
import HTTPServer
import Projects
import ServiceRuntime

/// Pages that SDKs open for a sign-in at a provider, and for the check of an app by reCAPTCHA.
///
/// The handler begins the flow and leads to the provider, which leads back to it. Its script then gives the answer to
/// the SDK: a popup by way of the frame in the app's page, a redirect by way of the session storage, an app by its URL
/// scheme. The SDK brings it to `signInWithIdp`.
struct SignInPage: Sendable {
  /// The address that providers lead back to, whichever of the paths began.
  static let callback = "/__/auth/handler"

  let backend: Backend
  let isDevelopment: Bool

  /// The second of each is the one that the JavaScript SDK opens on a server that it is told of.
  var routes: [Route] {
    let handlers = [Self.callback, "/emulator/auth/handler"]
    return [
      .page("showSignIn", .get, handlers, waitsFor: .providers) { call in .page(await show(call)) },
      .page("returnToSignIn", .post, handlers, waitsFor: .gateway) { call in .page(SignInView(call).answer(call.body))
      },
      .page("signInFrame", .get, ["/__/auth/iframe", "/emulator/auth/iframe"], waitsFor: .gateway) { call in
        .page(SignInFrame(call, isDevelopment: isDevelopment).page)
      },
      .script("signInScript", "handler.js", PageScripts.handler),
      .script("signInFrameScript", "iframe.js", PageScripts.frame),
    ]
  }

  private func show(_ call: Call) async -> CallPage {
    let view = SignInView(call)
    // The provider leads back, perhaps with a fragment alone.
    guard call.query.has("authType") else { return view.answer() }
    let target: SignInTarget
    let redirectURI: String
    do throws(ProtocolError) {
      target = try SignInTarget(call, isDevelopment: isDevelopment)
      redirectURI = try self.redirectURI(call)
    } catch {
      return view.foreign(error)
    }
    if target.isCheck { return view.check(target, siteKey: call.projectOrNil?.recaptcha?.siteKey) }
    do throws(ProtocolError) {
      return view.start(target, at: try await address(call, target, redirectURI))
    } catch {
      return view.failed(target, error)
    }
  }

  private func address(
    _ call: Call, _ target: SignInTarget, _ redirectURI: String
  ) async throws(ProtocolError) -> String {
    let provider = try call.query.word("providerId", else: "INVALID_PROVIDER_ID", missing: "INVALID_PROVIDER_ID")
    var request = PageRequest(sessionHash: target.sessionHash)
    request.scopes = try PageExtras.scopes(try call.query.text("scopes"))
    request.parameters = try PageExtras.parameters(try call.query.textMap("customParameters"))
    return try await ProviderStart(backend: backend).address(
      of: provider, request, returningTo: redirectURI, target.app, call)
  }

  /// The handler on the host by which the browser reaches it, since the session storage is that origin's. The host has
  /// to be one of the project.
  private func redirectURI(_ call: Call) throws(ProtocolError) -> String {
    let (project, hosts) = (try call.project(), call.request.headers.all("Host"))
    let isLocal = isDevelopment && LocalRequest.isLocal(call.request)
    guard hosts.count == 1, let parts = URLParts("\(isLocal ? "http" : "https")://\(hosts[0])"),
      !hosts[0].contains("/"), isLocal || project.hasDomain(parts.host.lowercased())
    else { throw .foreignPage }
    return parts.base + Self.callback
  }
}

extension Route {
  fileprivate static func script(_ name: String, _ file: String, _ text: String) -> Route {
    page(name, .get, ["/__/auth/\(file)", "/emulator/auth/\(file)"], waitsFor: .gateway) { _ in
      .script(Array(text.utf8))
    }
  }
}
