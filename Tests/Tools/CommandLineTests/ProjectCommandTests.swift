import CountersignEncoding
import FoundationEssentials
import Glibc
import Projects
import ServiceRuntime
import TestSupport
import Testing

@testable import CommandLine

@Suite final class ProjectCommandTests {
  private let directory = FileManager.default.temporaryDirectory.appending(path: "project-\(UUID().uuidString)")
  private var path: String { directory.appending(path: "projects.json5").path(percentEncoded: false) }

  init() throws { try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true) }
  deinit { try? FileManager.default.removeItem(at: directory) }  // What is left over is in /tmp.

  private func run(_ arguments: String...) async -> Run {
    await Run(FakeBackend(), arguments: ["project"] + arguments + ["--file", path])
  }

  private func write(_ text: String) throws { try Data(text.utf8).write(to: URL(filePath: path)) }

  private var text: String {
    get throws { String(decoding: try Data(contentsOf: URL(filePath: path)), as: UTF8.self) }
  }

  private var projects: Projects { get throws { try ProjectsFile.load(path).content } }

  @Test func `The first project makes the file; its key has the form that SDKs expect`() async throws {
    let run = await run("add", "example", "--number", "100000000001", "--domain", "localhost", "--method", "anonymous")
    #expect(run.code == .success, "\(run.error)")
    let project = try #require(try projects["example"])
    #expect(project.number == 100_000_000_001 && project.authorizedDomains == ["localhost"])
    #expect(project.methods == [.anonymous] && project.authDomain == "example.firebaseapp.com")
    let key = try #require(project.apiKeys.first)
    #expect(key.count == 39 && key.hasPrefix("A") && run.output.contains(key))
    #expect(await self.run("add", "second-one", "--number", "2").code == .success)
    #expect(try projects.all.count == 2)
    #expect(try projects["second-one"]?.apiKeys != project.apiKeys && projects["second-one"]?.methods == [.phone])
  }

  @Test func `An app gets an ID, and its settings are printed in three forms`() async throws {
    _ = await run("add", "example", "--number", "100000000001")
    let added = await run("app", "example", "--platform", "ios", "--id", "com.example.app")
    #expect(added.code == .success, "\(added.error)")
    #expect(added.error.contains("'apps' of the coordinator") && !added.output.contains("coordinator"))
    let project = try #require(try projects["example"])
    let app = try #require(project.app(id: "com.example.app"))
    #expect(app.appID.hasPrefix("1:100000000001:ios:"))
    for part in [app.appID, app.encodedAppID, project.apiKeys.first ?? "-", "example.firebaseapp.com"] {
      #expect(added.output.contains(part))
    }
    let list = await run("show", "example", "com.example.app", "--plist")
    for part in [
      "<key>GOOGLE_APP_ID</key>\n  <string>\(app.appID)</string>", "<key>BUNDLE_ID</key>\n  <string>com.example.app<",
      "<key>GCM_SENDER_ID</key>\n  <string>100000000001<", "<key>PROJECT_ID</key>\n  <string>example<",
    ] {
      #expect(list.output.contains(part), "\(list.output)")
    }
    let data = Data(list.output.utf8)
    let decoded = try PropertyListDecoder().decode(AppleSettings.self, from: data)
    #expect(decoded.apiKey == project.apiKeys.first)
    let json = await run("show", "example", "com.example.app", "--json")
    #expect(json.output.contains(#""encodedAppID":"\#(app.encodedAppID)""#))
    #expect(json.output.contains(#""messagingSenderId":"100000000001""#))
    let page = await run(
      "app", "example", "--platform", "web", "--id", "page", "--origin", "https://example.com", "--origin",
      "http://localhost:*")
    #expect(page.code == .success && !page.output.contains("URL scheme"))
    #expect(try projects["example"]?.app(origin: "http://localhost:1")?.id == "page")
    #expect(await run("show", "example").output.contains("com.example.app"))
    #expect(await run("list").output.contains("example  100000000001  phone    2"))
  }

  @Test func `Comments, order and mode stay, in files of several styles`() async throws {
    let styles = [
      "{\n  // Ours.\n  projects: {\n    'b-first': { number: 1, apiKeys: ['fake-api-key'] } // no comma {\n  },\n}\n",
      "{projects:{'b-first':{number:1,apiKeys:['fake-api-key'],apps:{}}}} // end }",
      "{ \"projects\": { \"b-first\": { \"number\": 1, /* } */ \"apiKeys\": [\"fake-api-key\"], apps: { a: "
        + "{ platform: 'web', appID: '1:1:web:01234567' } } } } }",
      "// empty\n{\n}\n",
    ]
    for (index, style) in styles.enumerated() {
      try write(style)
      try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: path)
      #expect(await run("add", "example", "--number", "2").code == .success, "\(index)")
      let app = await run("app", "example", "--platform", "android", "--id", "com.example.app")
      #expect(app.code == .success, "\(index): \(app.error)")
      if index < 3 {
        #expect(await run("app", "b-first", "--platform", "ios", "--id", "com.example.old").code == .success)
        #expect(try projects["b-first"]?.app(id: "com.example.old") != nil && projects.all.count == 2)
      }
      #expect(try projects["example"]?.apps.count == 1)
      for comment in ["// Ours.", "// no comma {", "// end }", "/* } */", "// empty"] where style.contains(comment) {
        #expect(try text.contains(comment), "\(comment)")
      }
      var status = stat()
      let answer = stat(path, &status)
      #expect(answer == 0 && status.st_mode & 0o777 == 0o640)
    }
    let names = try FileManager.default.contentsOfDirectory(atPath: directory.path(percentEncoded: false))
    #expect(names == ["projects.json5"])
  }

  @Test func `The shipped file takes a project where its comments show one`() async throws {
    let shipped = try Data(contentsOf: URL(filePath: Repository.config + "/projects.json5"))
    try shipped.write(to: URL(filePath: path))
    #expect(await run("add", "example", "--number", "2").code == .success)
    let added = try text
    #expect(try projects.all.count == 1)
    #expect(added.split(separator: "\n").count > shipped.split(separator: UInt8(ascii: "\n")).count)
    #expect(added.contains("    \"example\": {\n      number: 2,"), "\(added)")
  }

  @Test func `Duplicates and wrong values are refused, and the file stays`() async throws {
    _ = await run("add", "example", "--number", "100000000001")
    _ = await run("app", "example", "--platform", "ios", "--id", "com.example.app")
    let before = try text
    for arguments in [
      ["add", "example", "--number", "2"], ["add", "example-2", "--number", "100000000001"],
      ["add", "Example", "--number", "3"], ["add", "example-2", "--number", "3", "--domain", "https://example.com"],
      ["app", "example", "--platform", "ios", "--id", "com.example.app"],
      ["app", "example", "--platform", "web", "--id", "page", "--origin", "https://example.com/page"],
      ["app", "example", "--platform", "web", "--id", "a b"], ["app", "absent", "--platform", "ios", "--id", "a"],
      ["show", "absent"], ["show", "example", "absent"],
    ] {
      let run = await Run(FakeBackend(), arguments: ["project"] + arguments + ["--file", path])
      #expect(run.code == .badInput, "\(arguments): \(run.output)\(run.error)")
    }
    for arguments in [
      ["add", "example-2"], ["add", "example-2", "--number", "0"], ["app", "example", "--id", "a"],
      ["app", "example", "--platform", "ios"], ["add", "example-2", "--number", "3", "--method", "sms"],
      ["app", "example", "--platform", "ios", "--id", "a", "--origin", "https://example.com"],
      ["app", "example", "--platform", "web", "--id", "a", "--plist"], ["show", "example", "--plist"],
    ] {
      let run = await Run(FakeBackend(), arguments: ["project"] + arguments + ["--file", path])
      #expect(run.code == .usage, "\(arguments)")
    }
    #expect(try text == before)
    #expect(await run("app", "example", "--platform", "ios", "--id", "a b").error.contains("--id must be"))
    #expect(await run("show", "absent").error.contains("has no project absent; it has: example"))
    let origin = await run("app", "example", "--platform", "web", "--id", "page", "--origin", "example.com").error
    #expect(origin.ranges(of: path).count == 1 && origin.contains("apps.page.origins.0: must be"), "\(origin)")
    #expect(await Run(FakeBackend(), "project", "list").code == .configuration)
    #expect(await Run(FakeBackend(), "project", "list", "--file", path + ".absent").code == .noInput)
  }

  @Test func `A file that is wrong already is not written`() async throws {
    try write("{ projects: { example: { number: 0 } } }")
    let run = await run("add", "second-one", "--number", "2")
    #expect(run.code == .badInput && run.error.contains("projects.example.number"))
    #expect(try text == "{ projects: { example: { number: 0 } } }")
  }

  @Test func `Commands at the same time lose nothing of each other`() async throws {
    let count = 16
    await withTaskGroup(of: Run.self) { group in
      for number in 1...count {
        group.addTask { [path] in
          await Run(
            FakeBackend(),
            arguments: ["project", "add", "example-\(number)", "--number", "\(number)", "--file", path])
        }
      }
      for await run in group { #expect(run.code == .success, "\(run.error)") }
    }
    #expect(try projects.all.count == count)
  }

  @Test func `A change waits for one that another command has begun, and gives up in the end`() throws {
    try write("{ projects: { } }")
    try ProjectsDocument.change(path) { _ throws(CommandLineError) in
      let error = #expect(throws: CommandLineError.self) {
        try ProjectsDocument.change(path, patience: .zero) { _ throws(CommandLineError) in Issue.record("it goes on") }
      }
      #expect(error?.code == .unavailable)
    }
    var document = Projects([])
    try ProjectsDocument.change(path, patience: .zero) { document = $0.projects }
    #expect(document.all.isEmpty)
  }
}

private struct AppleSettings: Decodable {
  let apiKey: String

  enum CodingKeys: String, CodingKey {
    case apiKey = "API_KEY"
  }
}
