import JobEngine
import TestSupport

@testable import SMS

enum Shipped {
  static let package = Repository.root
  static let config = package + "/Config"

  static func templates() throws(WorkerError) -> SMSTemplates {
    try SMSTemplates(directory: config + "/templates/sms", defaultLanguage: "en")
  }

  static func table(_ provider: String) throws(WorkerError) -> ProviderTable {
    let shipped = SMSProviders.all.first { $0.typeName == provider }
    return try (shipped?.tables.first ?? ProviderTables.Source(provider)).read(directory: config + "/providers")
  }
}
