import CommandLine
import CountersignTelemetry
import FoundationEssentials
import Glibc
import ServiceRuntime

@main
enum Countersign {
  static func main() async {
    let program = CountersignProgram(
      environment: ProcessInfo.processInfo.environment, clock: SystemClock(), streams: .standard)
    // Awaits on the main task are slow: the work runs on a task of its own.
    let task = Task.detached { await program.run(Array(CommandLine.arguments.dropFirst())) }
    exit(await task.value.rawValue)
  }
}
