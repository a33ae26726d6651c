import ServiceRuntime
import Testing

private enum Color: String, CaseIterable {
  case red, green
}

private struct SharedOptions: CommandOptions {
  let verbose: Bool

  init(_ reader: OptionReader) {
    verbose = reader.flag("verbose", short: "v", "Say more.")
  }
}

private struct PaintOptions: CommandOptions {
  let shared: SharedOptions
  let color: Color?
  let coats: Int?
  let drying: Duration?
  let tools: [String]
  let wall: String
  let note: String?

  init(_ reader: OptionReader) {
    shared = reader.inherited()
    color = reader.word("color", "COLOR", "Color.")
    coats = reader.integer("coats", "NUMBER", in: 1...3, "Number of coats.")
    drying = reader.duration("drying", "TIME", "Time between coats.")
    tools = reader.texts("tool", "TOOL", "Tool; may be repeated.")
    wall = reader.operand("WALL", "Wall.")
    note = reader.optionalOperand("NOTE", "Note.")
    if coats == 3, color == .red { reader.fail("three coats of red are too many") }
  }
}

@Suite struct CommandOptionsTests {
  private let syntax = CommandSyntax(
    "house", "Looks after a house.", options: SharedOptions.self,
    subcommands: [CommandSyntax("paint", "Paints a wall.", options: PaintOptions.self)])

  private func read(_ arguments: String...) throws -> PaintOptions {
    guard case .run(let arguments) = try syntax.parse(["paint"] + arguments) else {
      throw UsageError("help was asked for")
    }
    return try PaintOptions.read(arguments)
  }

  @Test func `Values are read by the types that their options declare`() throws {
    let options = try read(
      "-v", "--color", "green", "--coats", "2", "--drying", "2m", "--tool", "brush", "--tool", "tape", "north", "soon")
    #expect(options.shared.verbose)
    #expect(options.color == .green)
    #expect(options.coats == 2)
    #expect(options.drying == .seconds(120))
    #expect(options.tools == ["brush", "tape"])
    #expect(options.wall == "north" && options.note == "soon")
  }

  @Test func `Options that are absent are nil`() throws {
    let options = try read("north")
    #expect(!options.shared.verbose)
    #expect(options.color == nil && options.coats == nil && options.drying == nil && options.note == nil)
    #expect(options.tools.isEmpty)
  }

  @Test(
    arguments: [
      (["--coats", "4", "north"], "--coats must be a whole number from 1 to 3"),
      (["--color", "gren", "north"], "did you mean green?"),
      (["--drying", "soon", "north"], "--drying must be a duration"),
      (["--color", "red", "--coats", "3", "north"], "three coats of red are too many"), ([], "WALL is missing"),
      (["--colr", "red", "north"], "did you mean --color?"),
    ])
  func `A wrong value is refused with its option`(arguments: [String], message: String) {
    do {
      guard case .run(let arguments) = try syntax.parse(["paint"] + arguments) else {
        return #expect(Bool(false), "help was asked for")
      }
      _ = try PaintOptions.read(arguments)
      Issue.record("nothing was refused")
    } catch {
      #expect("\(error)".contains(message), "\(error)")
    }
  }

  @Test func `The help lists the options in the order in which they are read, those of the outer command last`() throws
  {
    guard case .help(let text) = try syntax.parse(["paint", "--help"]) else { return #expect(Bool(false), "no help") }
    let places = ["WALL", "[NOTE]", "--color", "--coats", "--drying", "--tool", "--verbose"].map {
      text.firstRange(of: $0)?.lowerBound
    }
    #expect(!places.contains(nil))
    #expect(places.compactMap { $0 } == places.compactMap { $0 }.sorted())
    #expect(text.split(separator: "--verbose").count == 2, "an inherited option is listed once")
  }
}
