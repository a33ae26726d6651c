import JobEngine
import TestSupport

@testable import SMS

/// The files that are shipped with the worker, as the tests find them.
enum Shipped {
  /// This package.
  static let package = Repository.root
  /// `Config/` of it.
  static let config = package + "/Config"

  static func templates() throws(SMSDispatchError) -> SMSTemplates {
    try SMSTemplates(directory: config + "/templates/sms", defaultLanguage: "en")
  }

  static func table(_ provider: String) throws(WorkerError) -> ProviderTable {
    try ProviderTables.read(provider, directory: config + "/providers")
  }
}
