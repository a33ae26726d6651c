import FoundationEssentials
import GuardedJSON

extension ProviderTable {
  /// A file larger than this is no table.
  static let maxFileBytes = 1024 * 1024

  private struct File: Decodable {
    let codes: [String: ProviderRule]?
    let statuses: [String: ProviderRule]?
    let receipts: [String: ProviderReceiptRule]?
  }

  /// Reads a table from a JSON5 file.
  ///
  /// - Throws: `.unreadable` when it cannot be read or decoded, `.invalidProviderTable` when a status is none.
  public init(file path: String) throws(WorkerSetupError) {
    let data = try DataFile.read(path, maxBytes: Self.maxFileBytes)
    let file: File
    do {
      file = try JSONReader(maxBytes: Self.maxFileBytes, syntax: .json5).decode(File.self, from: data)
    } catch {
      throw WorkerSetupError(.unreadable, "\(path): \(DecodingText.describe(error))")
    }
    for status in (file.statuses ?? [:]).keys where !Self.isStatus(status) {
      throw WorkerSetupError(
        .invalidProviderTable, "\(path): statuses.\(status) must be an HTTP status from 300 to 599, or 3xx, 4xx or 5xx")
    }
    self.init(codes: file.codes ?? [:], statuses: file.statuses ?? [:], receipts: file.receipts ?? [:])
  }

  private static func isStatus(_ text: String) -> Bool {
    ["3xx", "4xx", "5xx"].contains(text) || Int(text).map((300...599).contains) == true
  }
}
