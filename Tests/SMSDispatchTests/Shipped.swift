import SMSDispatch

/// The files that are shipped with the worker, as the tests find them.
enum Shipped {
  /// `Config/` of this package.
  static let config = {
    let parts = #filePath.split(separator: "/").dropLast(3)
    return "/" + parts.joined(separator: "/") + "/Config"
  }()

  static func templates() throws(SMSDispatchError) -> SMSTemplates {
    try SMSTemplates(directory: config + "/templates/sms", defaultLanguage: "en")
  }
}
