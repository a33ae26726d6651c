import FoundationEssentials

/// Listings of files that a page of the documentation shows, each under a comment that names its file.
package struct PageListings {
  /// Parts of files, in the order of the page.
  package let listings: [(file: String, text: String)]
  /// Paths of the repository that the page names.
  package let paths: [String]

  package init(of page: String) throws {
    let text = try Self.read(page)
    listings = text.split(separator: "<!-- file: ").dropFirst().map { section in
      let file = String(section.prefix { $0 != " " })
      let lines = section.split(separator: "\n", omittingEmptySubsequences: false)
      let listing = lines.dropFirst(2).prefix { !$0.hasPrefix("```") }
      return (file, listing.map { $0 + "\n" }.joined())
    }
    let words = text.split(separator: "`").map(String.init)
    paths = words.filter { $0.hasPrefix("Sources/") || $0.hasPrefix("Tests/") || $0.hasPrefix("Config/") }
  }

  package var files: Set<String> { Set(listings.map(\.file)) }

  /// Files that the page does not show from the first line to the last.
  package var changedFiles: [String] {
    get throws {
      try files.filter { file in
        try listings.filter { $0.file == file }.map(\.text).joined(separator: "\n") != Self.read(file)
      }
    }
  }

  /// Paths that the page names, and that do not exist.
  package var missingPaths: [String] {
    paths.filter { !FileManager.default.fileExists(atPath: Repository.root + "/" + $0) }
  }

  private static func read(_ path: String) throws -> String {
    String(decoding: try Data(contentsOf: URL(filePath: Repository.root + "/" + path)), as: UTF8.self)
  }
}
