import CountersignEncoding
import Projects

struct SDKSettings {
  let project: Project
  let app: ProjectApp

  /// All are equal.
  private var apiKey: String { project.apiKeys.min() ?? "" }

  var text: String {
    var rows = [
      ("app", "\(app.id) (\(app.platform.rawValue)) of project \(project.id)"), ("API key", apiKey),
      ("app ID", app.appID),
    ]
    if app.platform != .web { rows.append(("URL scheme", app.encodedAppID)) }
    if let domain = project.authDomain { rows.append(("auth domain", domain)) }
    if !app.origins.isEmpty { rows.append(("origins", app.origins.joined(separator: ", "))) }
    rows.append(("project number", "\(project.number)"))
    return rows.map { $0 + String(repeating: " ", count: 16 - $0.count) + $1 }.joined(separator: "\n")
  }

  var json: JSONValue {
    .object([
      "id": .text(app.id), "platform": .text(app.platform.rawValue), "project": .text(project.id),
      "projectNumber": .text("\(project.number)"), "apiKey": .text(apiKey), "appID": .text(app.appID),
      "encodedAppID": .text(app.encodedAppID), "authDomain": .optional(project.authDomain),
      "origins": .array(app.origins.map { .text($0) }), "config": config,
    ])
  }

  /// Argument of the JavaScript SDK's `initializeApp`.
  private var config: JSONValue {
    var fields: [String: JSONValue] = [
      "apiKey": .text(apiKey), "appId": .text(app.appID), "projectId": .text(project.id),
      "messagingSenderId": .text("\(project.number)"),
    ]
    if let domain = project.authDomain { fields["authDomain"] = .text(domain) }
    return .object(fields)
  }

  /// `GoogleService-Info.plist` of an Apple app.
  var propertyList: String {
    let texts = [
      ("API_KEY", apiKey), ("BUNDLE_ID", app.id), ("GCM_SENDER_ID", "\(project.number)"), ("GOOGLE_APP_ID", app.appID),
      ("PLIST_VERSION", "1"), ("PROJECT_ID", project.id),
    ].map { "  <key>\($0)</key>\n  <string>\($1)</string>\n" }
    let flags = [
      ("IS_ADS_ENABLED", false), ("IS_ANALYTICS_ENABLED", false), ("IS_APPINVITE_ENABLED", false),
      ("IS_GCM_ENABLED", true), ("IS_SIGNIN_ENABLED", true),
    ].map { "  <key>\($0)</key>\n  <\($1)/>\n" }
    return """
      <?xml version="1.0" encoding="UTF-8"?>
      <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
      <plist version="1.0">
      <dict>
      \((texts + flags).joined())</dict>
      </plist>
      """
  }
}
