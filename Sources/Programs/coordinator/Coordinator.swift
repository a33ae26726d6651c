import Coordination
import ServiceRuntime

@main
struct Coordinator {
  static func main() async {
    let process = ProcessDescription(
      name: "coordinator", summary: "Verifies phone numbers: takes commands, has codes sent, checks them.")
    await ProcessMain.run(process) { (configuration: CoordinatorConfiguration, context) in
      try await CoordinatorServices.make(configuration, context)
    }
  }
}
