import CountersignEncoding
import FoundationEssentials

extension ProviderTable {
  /// A file larger than this is no table.
  static let maxFileBytes = 1024 * 1024

  /// The parts of a table.
  public enum Section: String, Sendable, CaseIterable {
    /// By the provider's own code.
    case codes
    /// By HTTP status.
    case statuses
    /// By the code in a report of what became of a message.
    case receipts
  }

  private struct File: KeyedPart {
    let codes: [String: Strict<ProviderRule>]?
    let statuses: [String: Strict<ProviderRule>]?
    let receipts: [String: Strict<ProviderReceiptRule>]?

    static let keys = Section.allCases.map(\.rawValue)

    func count(_ section: Section) -> Int? {
      switch section {
      case .codes: codes?.count
      case .statuses: statuses?.count
      case .receipts: receipts?.count
      }
    }
  }

  /// Reads a table from a JSON5 file.
  ///
  /// - Parameters:
  ///   - path: The file.
  ///   - sections: The sections that the provider has: each must be there and have a row, and there may be no other.
  /// - Throws: `.unreadable` when it cannot be read or decoded or has an unknown key, `.invalidProviderTable` when a status is
  ///   none or a section is missing, empty or not of this provider.
  public init(file path: String, sections: Set<Section> = [.codes, .statuses]) throws(WorkerSetupError) {
    let data = try DataFile.read(path, maxBytes: Self.maxFileBytes)
    let file: File
    do {
      file = try JSONReader(maxBytes: Self.maxFileBytes, syntax: .json5).decode(Strict<File>.self, from: data).part
    } catch {
      throw WorkerSetupError(.unreadable, "\(path): \(DecodingText.describe(error))")
    }
    for status in (file.statuses ?? [:]).keys where !Self.isStatus(status) {
      throw WorkerSetupError(
        .invalidProviderTable, "\(path): statuses.\(status) must be an HTTP status from 300 to 599, or 3xx, 4xx or 5xx")
    }
    for section in Section.allCases {
      if let problem = Self.problem(section, count: file.count(section), isExpected: sections.contains(section)) {
        throw WorkerSetupError(.invalidProviderTable, "\(path): \(section) \(problem)")
      }
    }
    self.init(
      codes: (file.codes ?? [:]).mapValues(\.part), statuses: (file.statuses ?? [:]).mapValues(\.part),
      receipts: (file.receipts ?? [:]).mapValues(\.part))
  }

  /// A section that is missing would leave every answer to what is said of unknown ones.
  private static func problem(_ section: Section, count: Int?, isExpected: Bool) -> String? {
    switch (isExpected, count) {
    case (true, nil): "is missing: the table that is shipped shows what belongs there"
    case (true, 0): "is empty: the table that is shipped shows what belongs there"
    case (false, .some): "is of no use here: this provider's answers have no such thing, so take it out"
    default: nil
    }
  }

  private static func isStatus(_ text: String) -> Bool {
    ["3xx", "4xx", "5xx"].contains(text) || Int(text).map((300...599).contains) == true
  }
}
