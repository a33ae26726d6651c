import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import HTTPServer
import Projects

/// The page that the link of a mail opens, for projects without one of their own.
///
/// Opening it only looks at the code, so that scanners of mails spend none. The button spends it. The page has no
/// script.
struct ActionPage: Sendable {
  let backend: Backend
  let isDevelopment: Bool

  /// The second address is that of links of the emulator.
  var routes: [Route] {
    let paths = ["/__/auth/action"] + (isDevelopment ? ["/emulator/action"] : [])
    return [
      .page("showAction", .get, paths, waitsFor: .accounts) { call in .page(await show(call)) },
      .page("takeAction", .post, paths, waitsFor: .hashing) { call in .page(await take(call)) },
    ]
  }

  // MARK: GET

  private func show(_ call: Call) async -> CallPage {
    let view = ActionView(call)
    do throws(ProtocolError) {
      let (_, link) = try await look(call)
      return view.page(link)
    } catch {
      return view.failure(error)
    }
  }

  private func look(_ call: Call) async throws(ProtocolError) -> (MailLinkCode, MailLinkApplied) {
    let code = MailLinkCode(code: try call.query.requiredCode(), call: call, backend: backend)
    return (code, try await code.look())
  }

  // MARK: POST

  private func take(_ call: Call) async -> CallPage {
    let view = ActionView(call)
    do throws(ProtocolError) {
      let (code, link) = try await look(call)
      switch link.purpose {
      case .signIn: return view.page(link)
      case .resetPassword: return try await reset(code, link, call, view)
      case .verifyAddress, .changeAddress, .recoverAddress, .revertSecondFactor:
        return view.done(try await code.apply())
      }
    } catch {
      return view.failure(error)
    }
  }

  private func reset(
    _ code: MailLinkCode, _ link: MailLinkApplied, _ call: Call, _ view: ActionView
  ) async throws(ProtocolError) -> CallPage {
    do throws(ProtocolError) {
      let password = try call.body.secret(
        ActionView.passwordField, else: ProtocolError.weakPassword, missing: ProtocolError.weakPassword)
      return view.done(try await code.apply(newPassword: password))
    } catch {
      guard error.isCode(ProtocolError.weakPassword) else { throw error }
      return view.page(link, isWeak: true)
    }
  }
}

extension ProtocolError {
  static let weakPassword = "WEAK_PASSWORD"

  /// Whether it is the error about accounts with a code.
  func isCode(_ code: String) -> Bool { message == code || message.hasPrefix("\(code) :") }
}
