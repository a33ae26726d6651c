// swift-tools-version: 6.2

import PackageDescription

/// Settings of every Swift target.
let swiftSettings: [SwiftSetting] = [
  .treatAllWarnings(as: .error),
  .enableUpcomingFeature("ExistentialAny"),  // SE-0335
  .enableUpcomingFeature("MemberImportVisibility"),  // SE-0444
  .enableUpcomingFeature("InternalImportsByDefault"),  // SE-0409
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),  // SE-0461
  .enableUpcomingFeature("InferIsolatedConformances"),  // SE-0470
]

/// A library of this package in `Sources/<path>`.
func library(_ name: String, at path: String, _ dependencies: [Target.Dependency] = []) -> Target {
  .target(name: name, dependencies: dependencies, path: "Sources/\(path)", swiftSettings: swiftSettings)
}

/// An executable: parses its arguments and wires libraries, nothing else.
func executable(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .executableTarget(
    name: name, dependencies: dependencies, path: "Sources/Programs/\(name)", swiftSettings: swiftSettings)
}

/// The tests of the library `module`, in `Tests/<path>Tests`.
func tests(_ module: String, at path: String, _ dependencies: [Target.Dependency] = []) -> Target {
  .testTarget(
    name: "\(path.split(separator: "/").last ?? "")Tests",
    dependencies: [.byName(name: module), "TestSupport"] + dependencies,
    path: "Tests/\(path)Tests", swiftSettings: swiftSettings)
}

/// A C library of the system. One Swift module imports it, and no other; libcurl has three, those of its two clients and
/// of what they share.
func systemLibrary(_ name: String, at path: String, pkgConfig: String? = nil, debian package: String? = nil) -> Target {
  .systemLibrary(
    name: name, path: "Sources/C/\(path)", pkgConfig: pkgConfig, providers: package.map { [.apt([$0])] })
}

let systemLibraries: [Target] = [
  systemLibrary("CountersignCRabbitMQ", at: "CRabbitMQ", pkgConfig: "librabbitmq", debian: "librabbitmq-dev"),
  systemLibrary("CountersignCOpenSSL", at: "COpenSSL", pkgConfig: "libcrypto", debian: "libssl-dev"),
  systemLibrary("CCurl", at: "CCurl", pkgConfig: "libcurl", debian: "libcurl4-openssl-dev"),
  systemLibrary("CSQLite", at: "CSQLite", pkgConfig: "sqlite3", debian: "libsqlite3-dev"),
  systemLibrary("CPostgreSQL", at: "CPostgreSQL", pkgConfig: "libpq", debian: "libpq-dev"),
  systemLibrary("COpenDKIM", at: "COpenDKIM", pkgConfig: "opendkim", debian: "libopendkim-dev"),
  systemLibrary("CMicroHTTPD", at: "CMicroHTTPD", pkgConfig: "libmicrohttpd", debian: "libmicrohttpd-dev"),
  systemLibrary("CSMPP34", at: "CSMPP34", pkgConfig: "libsmpp34", debian: "libsmpp34-dev"),
  systemLibrary("CSodium", at: "CSodium", pkgConfig: "libsodium", debian: "libsodium-dev"),
  systemLibrary("CArgon2", at: "CArgon2", pkgConfig: "libargon2", debian: "libargon2-dev"),
  systemLibrary("CCrypt", at: "CCrypt", pkgConfig: "libcrypt", debian: "libcrypt-dev"),
  // Headers of the C library.
  systemLibrary("CAllocator", at: "CAllocator"),
  systemLibrary("CResolver", at: "CResolver"),
  // libphonenumber is C++ and has no .pc file in Debian: a shim with a C header stands before it.
  .target(
    name: "CPhoneNumber", path: "Sources/C/CPhoneNumber",
    linkerSettings: [.linkedLibrary("phonenumber"), .linkedLibrary("stdc++")]),
]

// Targets depend only on targets of their own folder and of folders above it in this list.
// Every module that `CountersignClient` needs carries the prefix: module names are unique in a package graph.

let base: [Target] = [
  library("CountersignConcurrency", at: "Base/Concurrency"),
  library("CountersignEncoding", at: "Base/Encoding"),
  library("CountersignTelemetry", at: "Base/Telemetry", ["CountersignEncoding"]),
  library("CountersignCryptography", at: "Base/Cryptography", ["CountersignCOpenSSL", "CountersignEncoding"]),
  library(
    "PasswordHashing", at: "Base/PasswordHashing",
    ["CArgon2", "CCrypt", "CSodium", "CountersignCryptography", "CountersignEncoding", "CountersignTelemetry"]),
]

let transport: [Target] = [
  library(
    "CountersignAMQP", at: "Transport/AMQP", ["CountersignCRabbitMQ", "CountersignConcurrency", "CountersignEncoding"]),
  library("Curl", at: "Transport/Curl", ["CCurl"]),
  library(
    "HTTPClient", at: "Transport/HTTPClient", ["CCurl", "CountersignConcurrency", "CountersignEncoding", "Curl"]),
  library("SMTPClient", at: "Transport/SMTPClient", ["CCurl", "CountersignConcurrency", "Curl"]),
  library("HTTPServer", at: "Transport/HTTPServer", ["CMicroHTTPD", "CountersignConcurrency", "CountersignEncoding"]),
  library("SMPP", at: "Transport/SMPP", ["CSMPP34", "CountersignConcurrency", "CountersignEncoding"]),
  library("SQLite", at: "Transport/SQLite", ["CSQLite", "CountersignConcurrency", "CountersignTelemetry"]),
  library(
    "PostgreSQL", at: "Transport/PostgreSQL",
    ["CPostgreSQL", "CountersignConcurrency", "CountersignEncoding", "CountersignTelemetry"]),
  library("PhoneNumbers", at: "Transport/PhoneNumbers", ["CPhoneNumber", "CountersignTelemetry"]),
]

let contract: [Target] = [
  library(
    "CountersignMessages", at: "Contract/Messages",
    ["CountersignAMQP", "CountersignCryptography", "CountersignEncoding", "CountersignTelemetry"]),
  library(
    "CountersignClient", at: "Contract/Client",
    ["CountersignAMQP", "CountersignCryptography", "CountersignMessages", "CountersignTelemetry"]),
]

let engines: [Target] = [
  library(
    "ServiceRuntime", at: "Engines/ServiceRuntime",
    [
      "CAllocator", "CountersignAMQP", "CountersignConcurrency", "CountersignCryptography", "CountersignEncoding",
      "CountersignTelemetry", "HTTPServer", "PostgreSQL",
    ]),
  library("NumberRules", at: "Engines/NumberRules", ["CountersignEncoding", "PhoneNumbers", "ServiceRuntime"]),
  library("Projects", at: "Engines/Projects", ["CountersignMessages", "CountersignTelemetry", "ServiceRuntime"]),
  library(
    "RecordStore", at: "Engines/RecordStore",
    ["CountersignCryptography", "CountersignEncoding", "CountersignTelemetry", "PostgreSQL", "SQLite"]),
  library(
    "CrashMarks", at: "Engines/CrashMarks",
    [
      "CountersignAMQP", "CountersignConcurrency", "CountersignCryptography", "CountersignTelemetry", "PostgreSQL",
      "RecordStore", "SQLite",
    ]),
  library(
    "CommandEngine", at: "Engines/CommandEngine",
    [
      "CountersignAMQP", "CountersignConcurrency", "CountersignCryptography", "CountersignEncoding",
      "CountersignMessages", "CountersignTelemetry", "CrashMarks", "PostgreSQL", "RecordStore", "SQLite",
      "ServiceRuntime",
    ]),
  library(
    "JobEngine", at: "Engines/JobEngine",
    [
      "CountersignAMQP", "CountersignConcurrency", "CountersignCryptography", "CountersignEncoding",
      "CountersignMessages",
      "CountersignTelemetry", "CrashMarks", "HTTPClient", "PostgreSQL", "RecordStore", "SQLite", "ServiceRuntime",
    ]),
]

let workers: [Target] = [
  library(
    "SMS", at: "Workers/SMS",
    [
      "CountersignAMQP", "CountersignCryptography", "CountersignEncoding", "CountersignMessages",
      "CountersignTelemetry", "CrashMarks", "HTTPClient", "HTTPServer", "JobEngine", "NumberRules", "PhoneNumbers",
      "SMPP", "ServiceRuntime",
    ]),
  library(
    "Push", at: "Workers/Push",
    [
      "CountersignCryptography", "CountersignEncoding", "CountersignMessages", "CountersignTelemetry", "HTTPClient",
      "JobEngine", "RecordStore", "SQLite", "ServiceRuntime",
    ]),
  library(
    "Revocation", at: "Workers/Revocation",
    [
      "CountersignCryptography", "CountersignEncoding", "CountersignMessages", "CountersignTelemetry", "HTTPClient",
      "JobEngine", "ServiceRuntime",
    ]),
  library(
    "Mail", at: "Workers/Mail",
    [
      "COpenDKIM", "CountersignCryptography", "CountersignEncoding", "CountersignMessages", "CountersignTelemetry",
      "JobEngine", "RecordStore", "SMTPClient", "SQLite", "ServiceRuntime",
    ]),
]

let coordinator: [Target] = [
  library(
    "Coordination", at: "Coordinator/Coordination",
    [
      "CommandEngine", "CountersignAMQP", "CountersignCryptography", "CountersignEncoding", "CountersignMessages",
      "CountersignTelemetry", "NumberRules", "PhoneNumbers", "Projects", "SQLite", "ServiceRuntime",
    ])
]

let accounts: [Target] = [
  library(
    "Accounts", at: "Accounts/Accounts",
    [
      "CommandEngine", "CountersignCryptography", "CountersignEncoding", "CountersignMessages",
      "CountersignTelemetry", "HTTPClient", "PasswordHashing", "Projects", "ServiceRuntime",
    ])
]

let webhooks: [Target] = [
  library(
    "Webhooks", at: "Webhooks/Webhooks",
    [
      "CommandEngine", "CountersignConcurrency", "CountersignCryptography", "CountersignEncoding",
      "CountersignMessages", "CountersignTelemetry", "HTTPClient", "SQLite", "ServiceRuntime",
    ])
]

let gateway: [Target] = [
  library(
    "Gateway", at: "Gateway/Gateway",
    [
      "CountersignAMQP", "CountersignConcurrency", "CountersignCryptography", "CountersignEncoding",
      "CountersignMessages",
      "CountersignTelemetry", "HTTPClient", "HTTPServer", "Projects", "ServiceRuntime",
    ])
]

let tools: [Target] = [
  library(
    "Benchmarks", at: "Tools/Benchmarks",
    [
      "CountersignAMQP", "CountersignCryptography", "CountersignEncoding", "CountersignMessages",
      "CountersignTelemetry", "HTTPClient", "HTTPServer",
    ]),
  library(
    "CommandLine", at: "Tools/CommandLine",
    [
      "CResolver", "CommandEngine", "Coordination", "CountersignAMQP", "CountersignClient", "CountersignCryptography",
      "CountersignEncoding", "CountersignMessages", "CountersignTelemetry", "HTTPClient", "JobEngine", "Mail",
      "PasswordHashing", "PostgreSQL", "Projects", "Push", "RecordStore", "SMS", "ServiceRuntime",
    ]),
  library(
    "Simulation", at: "Tools/Simulation",
    [
      "CountersignCryptography", "CountersignEncoding", "CountersignTelemetry", "HTTPClient", "HTTPServer",
      "ServiceRuntime",
    ]),
]

let programs: [Target] = [
  executable("coordinator", ["Coordination", "ServiceRuntime"]),
  executable("accounts", ["Accounts", "ServiceRuntime"]),
  executable("webhook-worker", ["ServiceRuntime", "Webhooks"]),
  executable("gateway", ["Gateway", "ServiceRuntime"]),
  executable("sms-worker", ["SMS"]),
  executable("push-worker", ["Push", "ServiceRuntime"]),
  executable("revocation-worker", ["JobEngine", "Revocation", "ServiceRuntime"]),
  executable("mail-worker", ["JobEngine", "Mail", "ServiceRuntime"]),
  executable("countersign", ["CommandLine", "CountersignTelemetry", "ServiceRuntime"]),
  executable(
    "bench", ["Benchmarks", "CountersignAMQP", "CountersignCryptography", "CountersignMessages", "ServiceRuntime"]),
  executable("simulator", ["CountersignTelemetry", "ServiceRuntime", "Simulation"]),
]

let testTargets: [Target] = [
  // Shared by the tests of several libraries.
  .target(
    name: "TestSupport",
    dependencies: [
      "CommandEngine", "CountersignAMQP", "CountersignConcurrency", "CountersignEncoding", "CountersignMessages",
      "CountersignTelemetry", "HTTPClient", "PostgreSQL", "RecordStore", "SQLite",
    ],
    path: "Tests/Support", swiftSettings: swiftSettings),

  tests("CountersignConcurrency", at: "Base/Concurrency"),
  tests("CountersignEncoding", at: "Base/Encoding"),
  tests("CountersignTelemetry", at: "Base/Telemetry"),
  tests("CountersignCryptography", at: "Base/Cryptography", ["CountersignEncoding"]),
  tests("PasswordHashing", at: "Base/PasswordHashing", ["CountersignEncoding", "CountersignTelemetry"]),

  tests("CountersignAMQP", at: "Transport/AMQP", ["CountersignConcurrency"]),
  // Needs a broker: COUNTERSIGN_TEST_AMQP_URL and COUNTERSIGN_TEST_BROKER_CTL.
  tests("CountersignAMQP", at: "Transport/AMQPIntegration"),
  tests("HTTPClient", at: "Transport/HTTPClient", ["CCurl", "CountersignConcurrency", "Curl", "HTTPServer"]),
  tests("SMTPClient", at: "Transport/SMTPClient"),
  tests("HTTPServer", at: "Transport/HTTPServer"),
  tests("SMPP", at: "Transport/SMPP"),
  tests("SQLite", at: "Transport/SQLite"),
  tests("PostgreSQL", at: "Transport/PostgreSQL"),
  tests("PhoneNumbers", at: "Transport/PhoneNumbers"),

  tests(
    "CountersignMessages", at: "Contract/Messages",
    ["CountersignAMQP", "CountersignCryptography", "CountersignEncoding", "CountersignTelemetry"]),
  tests(
    "CountersignClient", at: "Contract/Client",
    ["CountersignAMQP", "CountersignCryptography", "CountersignMessages", "CountersignTelemetry"]),

  tests(
    "ServiceRuntime", at: "Engines/ServiceRuntime",
    [
      "CountersignAMQP", "CountersignCryptography", "CountersignTelemetry", "HTTPClient", "HTTPServer", "PostgreSQL",
    ]),
  tests(
    "CrashMarks", at: "Engines/CrashMarks",
    ["CountersignAMQP", "CountersignTelemetry", "PostgreSQL", "RecordStore", "SQLite"]),
  tests(
    "CommandEngine", at: "Engines/CommandEngine",
    [
      "CountersignAMQP", "CountersignEncoding", "CountersignMessages", "CountersignTelemetry", "CrashMarks",
      "PostgreSQL", "RecordStore", "SQLite", "ServiceRuntime",
    ]),
  // A flow of its own, as docs/adding-a-flow.md shows it.
  tests(
    "CommandEngine", at: "Examples/TicketFlow",
    [
      "CountersignAMQP", "CountersignCryptography", "CountersignEncoding", "CountersignMessages",
      "CountersignTelemetry", "ServiceRuntime",
    ]),
  tests(
    "JobEngine", at: "Engines/JobEngine",
    [
      "CountersignAMQP", "CountersignMessages", "CountersignTelemetry", "CrashMarks", "HTTPClient", "PostgreSQL",
      "SQLite", "ServiceRuntime",
    ]),

  tests(
    "SMS", at: "Workers/SMS",
    [
      "CountersignAMQP", "CountersignCryptography", "CountersignEncoding", "CountersignMessages",
      "CountersignTelemetry", "HTTPClient", "HTTPServer", "JobEngine", "PhoneNumbers", "SMPP", "ServiceRuntime",
      "Simulation",
    ]),
  // A provider of its own, as docs/adding-a-provider.md shows it.
  tests(
    "SMS", at: "Workers/SMSExampleProvider",
    [
      "CountersignAMQP", "CountersignCryptography", "CountersignMessages", "CountersignTelemetry", "HTTPClient",
      "HTTPServer", "JobEngine", "ServiceRuntime",
    ]),
  tests(
    "Push", at: "Workers/Push",
    [
      "CountersignCryptography", "CountersignEncoding", "CountersignMessages", "CountersignTelemetry", "HTTPClient",
      "HTTPServer", "JobEngine", "RecordStore", "SQLite", "ServiceRuntime",
    ]),
  tests(
    "Revocation", at: "Workers/Revocation",
    [
      "CountersignCryptography", "CountersignMessages", "CountersignTelemetry", "HTTPClient", "JobEngine",
      "ServiceRuntime", "Simulation",
    ]),
  tests(
    "Mail", at: "Workers/Mail",
    [
      "CountersignCryptography", "CountersignEncoding", "CountersignMessages", "CountersignTelemetry", "JobEngine",
      "RecordStore", "SMTPClient", "SQLite", "ServiceRuntime",
    ]),

  tests(
    "Coordination", at: "Coordinator/Coordination",
    [
      "CommandEngine", "CountersignAMQP", "CountersignCryptography", "CountersignEncoding", "CountersignMessages",
      "CountersignTelemetry", "PhoneNumbers", "PostgreSQL", "Projects", "RecordStore", "SQLite", "ServiceRuntime",
    ]),

  tests("Projects", at: "Engines/Projects", ["CountersignTelemetry", "ServiceRuntime"]),
  tests(
    "Accounts", at: "Accounts/Accounts",
    [
      "CommandEngine", "CountersignAMQP", "CountersignCryptography", "CountersignEncoding", "CountersignMessages",
      "CountersignTelemetry", "HTTPClient", "PasswordHashing", "PostgreSQL", "Projects", "RecordStore",
      "ServiceRuntime",
    ]),
  tests(
    "Webhooks", at: "Webhooks/Webhooks",
    [
      "CommandEngine", "CountersignAMQP", "CountersignCryptography", "CountersignEncoding", "CountersignMessages",
      "CountersignTelemetry", "HTTPClient", "RecordStore", "ServiceRuntime",
    ]),
  tests(
    "Gateway", at: "Gateway/Gateway",
    [
      "CountersignAMQP", "CountersignConcurrency", "CountersignCryptography", "CountersignEncoding",
      "CountersignMessages",
      "CountersignTelemetry", "HTTPClient", "HTTPServer", "Projects", "ServiceRuntime",
    ]),

  tests("Benchmarks", at: "Tools/Benchmarks", ["HTTPClient", "HTTPServer"]),
  tests(
    "CommandLine", at: "Tools/CommandLine",
    [
      "CommandEngine", "CountersignAMQP", "CountersignCryptography", "CountersignEncoding", "CountersignMessages",
      "CountersignTelemetry", "CrashMarks", "HTTPClient", "Mail", "PasswordHashing", "PostgreSQL", "Projects", "Push",
      "RecordStore", "ServiceRuntime",
    ]),
  tests(
    "Simulation", at: "Tools/Simulation",
    ["CountersignCryptography", "CountersignEncoding", "CountersignTelemetry", "HTTPClient", "HTTPServer"]),

  // The pages of the documentation, held to the code.
  tests(
    "CommandLine", at: "Pages",
    [
      "CommandEngine", "Coordination", "CountersignAMQP", "CountersignEncoding", "CountersignMessages",
      "CountersignTelemetry", "CrashMarks", "JobEngine", "PhoneNumbers", "Push", "RecordStore", "Revocation", "SMPP",
      "SMS", "ServiceRuntime",
    ]),
]

let package = Package(
  name: "countersign",
  products: [
    // A Swift service's way to send commands and jobs, and to read replies, results and events.
    .library(name: "CountersignClient", targets: ["CountersignClient", "CountersignMessages"])
  ],
  targets: systemLibraries + base + transport + contract + engines + workers + coordinator + accounts + webhooks
    + gateway
    + tools
    + programs
    + testTargets,
  swiftLanguageModes: [.v6],
  cxxLanguageStandard: .cxx17
)
