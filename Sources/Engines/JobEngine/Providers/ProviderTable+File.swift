import CountersignEncoding
import FoundationEssentials

extension ProviderTable {
  /// The parts of a table.
  public enum Section: String, Sendable, CaseIterable {
    case codes
    case statuses
    /// By the code in a delivery report.
    case receipts
  }

  static let maxFileBytes = 1024 * 1024
  static let commonFile = "common.json5"
  private static let namePlaceholder = "{provider}"

  private struct File: KeyedPart {
    let provider: String?
    let codes: [String: Strict<ProviderRule>]?
    /// Statuses whose rows are those of `commonFile`.
    let common: [String]?
    let statuses: [String: Strict<ProviderRule>]?
    let receipts: [String: Strict<ProviderReceiptRule>]?

    static let keys = ["provider", "common"] + Section.allCases.map(\.rawValue)
  }

  private struct CommonRows: KeyedPart {
    let statuses: [String: Strict<ProviderRule>]

    static let keys = [Section.statuses.rawValue]
  }

  /// Reads a table from a JSON5 file.
  ///
  /// - Parameters:
  ///   - path: path of the file; `common.json5` of the same directory has the rows the table lists in `common`.
  ///   - sections: sections the provider has: each must be present and have a row, and there may be no other.
  /// - Throws: `.unreadable` when a file cannot be read or decoded or has an unknown key, `.invalidTable` when a status
  ///   is not one, or a section is missing, empty or not of this provider.
  public init(file path: String, sections: Set<Section> = [.codes, .statuses]) throws(WorkerError) {
    let file = try Self.decode(File.self, path)
    var statuses = (file.statuses ?? [:]).mapValues(\.part)
    try Self.checkStatuses(statuses.keys, path)
    for (status, rule) in try Self.commonRows(of: file, path) {
      guard statuses.updateValue(rule, forKey: status) == nil else {
        throw WorkerError(.invalidTable, "\(path): statuses.\(status) is in common too: keep one of them")
      }
    }
    let hasStatuses = file.statuses != nil || file.common != nil
    let counts: [Section: Int?] = [
      .codes: file.codes?.count, .statuses: hasStatuses ? statuses.count : nil, .receipts: file.receipts?.count,
    ]
    for section in Section.allCases {
      if let problem = Self.problem(count: counts[section] ?? nil, isExpected: sections.contains(section)) {
        throw WorkerError(.invalidTable, "\(path): \(section) \(problem)")
      }
    }
    self.init(
      codes: (file.codes ?? [:]).mapValues(\.part), statuses: statuses,
      receipts: (file.receipts ?? [:]).mapValues(\.part))
  }

  private static func decode<Part: KeyedPart>(_ type: Part.Type, _ path: String) throws(WorkerError) -> Part {
    let data = try DataFile.read(path, maxBytes: maxFileBytes)
    do {
      return try JSONReader(maxBytes: maxFileBytes, syntax: .json5).decode(Strict<Part>.self, from: data).part
    } catch {
      throw WorkerError(.unreadable, "\(path): \(DecodingText.describe(error))")
    }
  }

  private static func commonRows(of file: File, _ path: String) throws(WorkerError) -> [String: ProviderRule] {
    guard let names = file.common, !names.isEmpty else { return [:] }
    guard let provider = file.provider, !provider.isEmpty else {
      throw WorkerError(.invalidTable, "\(path): provider is missing: the rows of \(commonFile) name it")
    }
    let commonPath =
      String(path[..<(path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex)]) + commonFile
    let rows = try decode(CommonRows.self, commonPath).statuses.mapValues(\.part)
    try checkStatuses(rows.keys, commonPath)
    var taken: [String: ProviderRule] = [:]
    for name in names {
      guard let row = rows[name] else {
        throw WorkerError(.invalidTable, "\(path): common: \(commonPath) has no row for \(name)")
      }
      let detail = row.detail.replacing(namePlaceholder, with: provider)
      taken[name] = ProviderRule(class: row.class, reason: row.reason, detail: detail)
    }
    return taken
  }

  private static func checkStatuses(_ statuses: some Sequence<String>, _ path: String) throws(WorkerError) {
    for status in statuses where !isStatus(status) {
      throw WorkerError(
        .invalidTable, "\(path): statuses.\(status) must be an HTTP status from 300 to 599, or 3xx, 4xx or 5xx")
    }
  }

  private static func isStatus(_ text: String) -> Bool {
    ["3xx", "4xx", "5xx"].contains(text) || Int(text).map((300...599).contains) == true
  }

  /// A missing section would leave every answer to the fallback.
  private static func problem(count: Int?, isExpected: Bool) -> String? {
    switch (isExpected, count) {
    case (true, nil): "is missing: the shipped table shows what belongs there"
    case (true, 0): "is empty: the shipped table shows what belongs there"
    case (false, .some): "has no effect: this provider's answers have no such field, so remove it"
    default: nil
    }
  }
}
