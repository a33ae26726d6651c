import CountersignEncoding
import CountersignMessages
import Projects

/// HTML of the page that the link of a mail opens, in the language of the link.
struct ActionView: Sendable {
  static let passwordField = "newPassword"

  private let frame: PageFrame
  private let project: Project?
  private let query: CallBody

  init(_ call: Call) {
    project = call.projectOrNil
    query = call.query
    frame = PageFrame(Self.text("lang", of: call.query), call.request)
  }

  private var texts: ActionTexts { frame.texts }

  private static func text(_ name: String, of query: CallBody) -> String? {
    // A query has texts only.
    try? query.text(name)
  }

  // MARK: Pages

  /// Page that says what the link does, with the button that does it.
  func page(_ link: MailLinkApplied, isWeak: Bool = false) -> CallPage {
    // The address that is the account's afterwards: not the one that a thief has put there.
    var content = frame.address(link.purpose == .changeAddress ? link.newEmail ?? link.email : link.email)
    switch link.purpose {
    case .verifyAddress: content += form(.verifyButton)
    case .changeAddress: content += form(.changeButton)
    case .recoverAddress: content += form(.recoverButton)
    case .revertSecondFactor: content += secondFactor(link.secondFactor) + form(.revertButton)
    case .resetPassword: content += form(.resetButton, password(isWeak: isWeak))
    case .signIn: content = frame.paragraph(texts[.openInApp]) + signInLink
    }
    return frame.page(link.purpose.texts.title, content, status: isWeak ? 400 : 200)
  }

  /// Page that says what the link has done, with a way on.
  func done(_ link: MailLinkApplied) -> CallPage {
    let (title, done) = link.purpose.texts
    return frame.page(title, frame.paragraph(texts[done]) + anchor(continuePage?.url))
  }

  func failure(_ error: ProtocolError) -> CallPage { frame.failure(error) }

  // MARK: Parts

  /// It is sent to the address of the page, which has the code.
  private func form(_ button: ActionText, _ fields: String = "") -> String {
    "<form method=\"post\">\(fields)<button type=\"submit\">\(HTML.escape(texts[button]))</button></form>\n"
  }

  private func password(isWeak: Bool) -> String {
    let label = HTML.escape(texts[.newPassword])
    let state = isWeak ? " aria-invalid=\"true\" aria-describedby=\"wrong\" autofocus" : ""
    return """
      \(isWeak ? "<p id=\"wrong\">\(HTML.escape(weak))</p>" : "")\
      <label>\(label)<input type="password" name="\(Self.passwordField)" autocomplete="new-password" required\(state)>\
      </label>
      """
  }

  private var weak: String {
    let length = project?.passwords.minLength ?? Project.PasswordRules().minLength
    return texts[.weak].replacing(ActionTexts.count, with: String(length))
  }

  /// The number, which is masked, or the user's name of it.
  private func secondFactor(_ factor: SecondFactorView?) -> String {
    (factor?.phoneNumber ?? factor?.displayName).map(frame.address) ?? ""
  }

  private func anchor(_ url: String?) -> String {
    guard let url else { return "" }
    return "<p><a href=\"\(HTML.escape(url))\" rel=\"noreferrer\">\(HTML.escape(texts[.goOn]))</a></p>\n"
  }

  // MARK: The way on

  /// Only on a host of the project: anybody who has the link can write another page into it.
  private var continuePage: ContinuePage? {
    guard let project, let url = Self.text("continueUrl", of: query) else { return nil }
    return try? ContinuePage(url, of: project)
  }

  /// The app's page signs in, by the parameters of the link.
  private var signInLink: String {
    let known = ["mode", "oobCode", "apiKey", "lang"].compactMap { name in
      Self.text(name, of: query).map { (name: name, value: $0) }
    }
    return anchor(continuePage?.adding(String(decoding: FormEncoding.encode(known), as: UTF8.self)))
  }
}

extension MailLinkPurpose {
  fileprivate var texts: (title: ActionText, done: ActionText) {
    switch self {
    case .verifyAddress: (.verify, .verified)
    case .changeAddress: (.change, .changed)
    case .recoverAddress: (.recover, .recovered)
    case .revertSecondFactor: (.revert, .reverted)
    case .resetPassword: (.reset, .wasReset)
    case .signIn: (.signIn, .openInApp)
    }
  }
}
