"""The pages: what they name is there, their tables are those of Config/asyncapi.json, and their examples run as they are printed."""

import ast
import base64
import hashlib
import hmac
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import unittest
import uuid
from pathlib import Path

import pika

import contract
import metric_names
import simulator
import stock_sdk

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").glob("*.md"))]
MAX_COLUMNS = 120
MAX_LINES = {"README.md": 100, "ARCHITECTURE.md": 160}
PATIENCE_SECONDS = 60
# Words of AMQP, JSON and SQL, and of providers, that no source spells.
FOREIGN = {"NO_ROUTE", "CLOCK_MONOTONIC", "PR_SET_DUMPABLE", "CURLINFO_RETRY_AFTER", "CURLOPT_AWS_SIGV4"}
MESSAGES = "docs/messages.md"
WEBHOOKS = "docs/webhooks.md"


def text(name):
    return (ROOT / name).read_text()


def without_blocks(page):
    inside = False
    for line in page.read_text().splitlines():
        if line.lstrip().startswith("```"):
            inside = not inside
        elif not inside:
            yield line


def code(line):
    return re.findall(r"`([^`]+)`", line)


def spans():
    for page in PAGES:
        for span in code("\n".join(without_blocks(page))):
            yield page.name, span


def block(name, language, number=0):
    return re.findall(rf"^```{language}\n(.*?)^```", text(name), re.M | re.S)[number]


def table(name, head):
    lines = text(name).splitlines()
    rows = []
    for line in lines[lines.index(head) + 2:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line[1:-1].split("|")])
    return rows


def files(*folders):
    for folder in folders:
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and path.suffix in {"", ".swift", ".py", ".sh", ".json", ".json5", ".yml", ".conf", ".service", ".h"}:
                yield path


def everything():
    return "\n".join(path.read_text(errors="replace") for path in files("Sources", "Config", "deploy", "Tests"))


def schema(name):
    return next(message["payload"] for message in contract.DOCUMENT["components"]["messages"].values()
                if message["name"] == name)


def fields(schema):
    while "$ref" in schema:
        schema = contract.DOCUMENT["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
    found = set(schema.get("properties", {}))
    for part in [part for kind in ("allOf", "oneOf", "anyOf") for part in schema.get(kind, [])]:
        found |= fields(part)
    return found


class FormTest(unittest.TestCase):
    """Lengths and names; `.ci/check-links` looks after links and file names."""

    @classmethod
    def setUpClass(cls):
        cls.everything = everything()

    def test_pages_are_as_short_and_as_narrow_as_agreed(self):
        for name, most in MAX_LINES.items():
            self.assertLessEqual(len(text(name).splitlines()), most, name)
        wide = [f"{page.name}: {line}" for page in PAGES for line in without_blocks(page)
                if len(line) > MAX_COLUMNS and not line.lstrip().startswith("|")]
        self.assertEqual(wide, [])

    def test_folders_of_the_map_are_there(self):
        # Each row: a folder of Sources, then the folders in it, as far as they are named with a capital.
        rows = re.findall(r"^  (\w+)/ +(.+)$", text("ARCHITECTURE.md"), re.M)
        self.assertGreater(len(rows), 7)
        self.assertEqual({folder for folder, _ in rows}, {path.name for path in (ROOT / "Sources").iterdir()})
        places = re.findall(r"\(((?:\w+/)+\w+)(?:/…)?\)", text("ARCHITECTURE.md"))
        for row in table("ARCHITECTURE.md", "| question | start at |"):
            places += re.findall(r"\b(?:[A-Z]\w+/)+\w+", re.sub(r"\]\([^)]*\)", "]", row[1]))
        self.assertGreater(len(places), 20)
        self.assertEqual([place for place in places if not self.is_place(place)], [])

    def test_imports_point_up_the_map(self):
        order = re.findall(r"^  (\w+)/ ", text("ARCHITECTURE.md"), re.M)
        places = dict(re.findall(r'library\(\s*"(\w+)", at: "([\w/]+)"', text("Package.swift")))
        places |= {name: f"C/{folder}" for name, folder in
                   re.findall(r'systemLibrary\("(\w+)", at: "(\w+)"', text("Package.swift"))} | {"CPhoneNumber": "C/CPhoneNumber"}
        importers = {}
        wrong = []
        for path in (ROOT / "Sources").rglob("*.swift"):
            layer, module = path.relative_to(ROOT / "Sources").parts[:2]
            for name in re.findall(r"^\s*(?:@\w+ )?(?:\w+ )?import (?:\w+ )?(\w+)", path.read_text(), re.M):
                place = places.get(name)
                if place is None or place == f"{layer}/{module}":
                    continue
                other = place.split("/")[0]
                if other == "C":
                    importers.setdefault(name, set()).add(module)
                elif order.index(other) > order.index(layer) or other == layer == "Workers":
                    wrong.append(f"{path.name} imports {name}")
        self.assertEqual(wrong, [])
        self.assertEqual(set(importers), {name for name, place in places.items() if place.startswith("C/")})
        self.assertEqual({name: found for name, found in importers.items() if len(found) > 1},
                         {"CCurl": {"Curl", "HTTPClient", "SMTPClient"}})

    def is_place(self, place):
        """Whether a folder or a Swift file of that name, without its first parts, is below Sources."""
        return any((folder / place).is_dir() or (folder / f"{place}.swift").is_file() for folder in
                   [ROOT / "Sources", *[path for path in (ROOT / "Sources").iterdir() if path.is_dir()]])

    def test_types_that_are_named_are_declared(self):
        sources = "\n".join(path.read_text() for path in files("Sources") if path.suffix == ".swift")
        names = {path.stem for path in files("Sources")} | set(re.findall(r"alert: (\w+)", text("deploy/prometheus/alerts.yml")))
        count, wrong = 0, []
        for page, span in spans():
            if re.fullmatch(r"[A-Z][a-z]+[A-Z]\w*(\.\w+)?(\+\w+)?", span) and page != "mail.md":
                known = span in names or re.search(rf"\b(struct|enum|class|actor|protocol) {span.split('.')[0]}\b", sources)
                if not known and span not in FOREIGN_TYPES:
                    wrong.append(f"{page}: {span}")
                count += 1
        self.assertEqual(wrong, [])
        self.assertGreater(count, 20)

    def test_the_page_on_operations_tells_how_to_change_each_secret(self):
        """And names none that no configuration has."""
        keys = set()
        for path in (ROOT / "Config").glob("*.json5"):
            if path.stem != "simulator":
                keys |= set(re.findall(r"\b(\w+File): ", path.read_text()))
        rows = table("docs/operations.md", "| key | of | to change it | what users notice |")
        told = {span.rsplit(".", 1)[-1] for row in rows for span in code(row[0])} - {"keyID"}
        self.assertEqual(told, keys - {"caFile"})

    def test_words_of_the_contract_are_in_the_code(self):
        count, wrong = 0, []
        for page, span in spans():
            if re.fullmatch(r"[A-Z]+(_[A-Z0-9]+)+|EXPIRED|LOST|CRASHED", span) and span not in FOREIGN:
                count += 1
                if span not in self.everything:
                    wrong.append(f"{page}: {span}")
        self.assertEqual(wrong, [])
        self.assertGreater(count, 60)

    def test_metrics_keys_and_variables_are_in_the_code(self):
        sources = "\n".join(path.read_text() for path in files("Sources"))
        keys = "\n".join(path.read_text() for path in (ROOT / "Config").glob("*.json5"))
        counts = {"metric": 0, "key": 0, "header": 0}
        wrong = []
        for page, span in spans():
            if match := re.match(r"countersign_\w+", span):
                wrong += [] if f'"{match[0]}"' in sources else [f"{page}: {span}"]
                counts["metric"] += 1
            elif match := re.fullmatch(r"(commands|verification|inbox|ledger|queue|stop|broker|limits|regions|bulk|memory|receipts)"
                                       r"((?:\.\w+)+)(: \S+)?", span):
                if any(character.isupper() for character in span) or match[1] in {"ledger", "bulk", "memory"}:
                    wrong += [] if re.search(rf"\b{match[2].rsplit('.', 1)[1]}: ", keys) else [f"{page}: {span}"]
                    counts["key"] += 1
            elif re.fullmatch(r"x-[a-z-]+", span) and span != "x-overflow":
                wrong += [] if f'"{span}"' in sources else [f"{page}: {span}"]
                counts["header"] += 1
        self.assertEqual(wrong, [])
        self.assertGreater(min(counts.values()), 4, counts)

    def test_labels_of_alerts_are_those_of_the_metrics(self):
        """A selector with a label that a metric lacks never matches; AlertsTests has the names of the metrics."""
        declared = metric_names.declared()
        alerts = text("deploy/prometheus/alerts.yml")
        used = [(name, re.findall(r"(\w+)!?=", selector)) for name, selector in
                re.findall(r"(countersign_\w+?)(?:_bucket)?\{([^}]*)\}", alerts)]
        used += [(name, re.findall(r"\w+", labels)) for labels, name in
                 re.findall(r"by \(([^)]*)\)\s*\((?:\w+\()*(countersign_\w+?)(?:_bucket)?[\[{) ]", alerts)]
        # Prometheus itself adds the instance, and a histogram the upper bounds of its buckets.
        wrong = [(name, label) for name, labels in used for label in labels
                 if label not in {"instance", "le"} and label not in declared.get(name, set())]
        self.assertEqual(wrong, [])
        self.assertGreater(len(used), 25)


# Names of systemd and Swift.
FOREIGN_TYPES = {"FoundationEssentials", "LoadCredential"}


class CommandsTest(unittest.TestCase):
    def test_files_of_secrets_are_made_for_their_owner_only(self):
        made = [(page, span) for page, span in spans() if re.search(r"(keys generate|openssl rand)\b.*>", span, re.S)]
        self.assertGreater(len(made), 2)
        self.assertEqual([(page, span) for page, span in made if not re.match(r"\(umask\s077;\s", span)], [])

    def test_the_files_that_a_stand_in_is_wired_in(self):
        simulation = ROOT / "Sources/Tools/Simulation"
        # Those that name another provider, but for its own file.
        wired = {str(path.relative_to(simulation)) for path in files("Sources/Tools/Simulation")
                 if "messagebird" in path.read_text().lower() and path.name != "MessageBirdStub.swift"}
        page = text("docs/adding-a-provider.md").split("A stand-in is optional.")[1].split("\n\n")[0]
        self.assertEqual({span for span in code(page) if span.endswith(".swift")}, wired)
        self.assertEqual([span for span in code(page) if span.endswith(".json5") and not (ROOT / span).exists()], [])


class MessagesTest(unittest.TestCase):
    def test_commands_with_their_bodies_and_replies(self):
        rows = table(MESSAGES, "| command | body | reply |")
        self.assertEqual({code(row[0])[0] for row in rows},
                         {name for name in self.commands() if name.startswith("verification.")})
        for name, body, reply in rows:
            command = code(name)[0]
            known = fields(schema(f"{command}.v1"))
            told = set(code(body))
            if "client" in told:
                told -= fields({"$ref": "#/components/schemas/Client"})
            self.assertEqual(told, known, command)
            answer, *parts = code(reply)
            self.assertLessEqual(set(parts), fields(schema(answer)), answer)
            self.assertIn(answer, {contract.DOCUMENT["components"]["messages"][key]["name"]
                                   for key in self.answers(command)}, command)

    def commands(self):
        return {key.removeprefix("command.") for key in contract.DOCUMENT["channels"] if key.startswith("command.")}

    def answers(self, command):
        for operation in contract.DOCUMENT["operations"].values():
            if operation["channel"]["$ref"].endswith(f"/command.{command}"):
                yield from (self.last(reference) for reference in operation.get("reply", {}).get("messages", []))

    def last(self, reference):
        name = reference["$ref"].rsplit("/", 1)[1]
        messages = contract.DOCUMENT["components"]["messages"]
        return name if name in messages else self.last(contract.DOCUMENT["channels"]["replies"]["messages"][name])

    def test_every_command_and_event_is_on_a_page(self):
        pages = "\n".join(page.read_text() for page in PAGES)
        for command in self.commands():
            self.assertIn(command, pages)
        events = {key.removeprefix("event.") for key in contract.DOCUMENT["channels"] if key.startswith("event.")}
        told = re.search(r"Events go to `countersign.events`:(.*?)\n\n", text(MESSAGES), re.S)[1]
        self.assertEqual({f"verification.{span.split('.')[-1]}" for span in code(told)},
                         {name for name in events if name.startswith("verification.")})
        for name in events:
            self.assertTrue(name in pages or f"{name.split('.')[0]}.*" in pages or f"`.{name.split('.')[1]}`" in pages, name)

    def test_jobs_with_their_bodies(self):
        rows = table(MESSAGES, "| routing key | body |")
        jobs = {key.removeprefix("job.") for key in contract.DOCUMENT["channels"] if key.startswith("job.")}
        self.assertEqual({code(row[0])[0] for row in rows}, jobs)
        tokens = {"refreshToken", "accessToken", "authorizationCode"}
        for name, body in rows:
            job = code(name)[0]
            if job == "sms.bulk":
                self.assertIn("the same body", body)
                continue
            told = set(code(re.sub(r"`variables` \([^)]*\)", "`variables`", body)))
            known = fields(schema(f"{job}.v1"))
            self.assertEqual(told, known - tokens if "one of the tokens" in body else known, job)

    def test_results(self):
        outcomes = {code(row[0])[0] for row in table(MESSAGES, "| outcome | meaning |")}
        self.assertEqual(outcomes, {key.rsplit(".", 1)[1] for key in contract.DOCUMENT["channels"]
                                    if key.startswith("result.sms.dispatch.")} - {"delayed"})
        delays = re.search(r"under `sms\.dispatch\.delayed`.*?: (.*?)\. The coordinator", text(MESSAGES), re.S)[1]
        self.assertEqual(set(code(delays)), fields(schema("sms.dispatch.delayed.v1")))
        told = re.search(r"with a copy to `reply_to`:(.*?), and what the type adds", text(MESSAGES), re.S)[1]
        self.assertLessEqual(set(code(told)), fields(schema("sms.dispatch.result.v1")))
        self.assertEqual(len(code(told)), 8)

    def test_results_carry_no_numbers_and_no_texts(self):
        results = [message for message in contract.DOCUMENT["components"]["messages"].values()
                   if message["name"].endswith(".result.v1")]
        self.assertEqual(len(results), 7)
        for message in results:
            self.assertEqual(fields(message["payload"]) & {"phoneNumber", "to", "text", "code", "email"}, set(), message["name"])

    def test_errors(self):
        told = [span for row in table(MESSAGES, "| code | meaning |") for span in code(row[0])]
        self.assertEqual(sorted(told), sorted(contract.DOCUMENT["components"]["schemas"]["ErrorCode"]["enum"]))
        form = json.loads(re.search(r"answered with `error.v1`: `(\{.*?\}\})`", text(MESSAGES), re.S)[1].replace("…", "x"))
        self.assertEqual(set(form["error"]), fields(contract.DOCUMENT["components"]["schemas"]["Error"]))

    def test_headers(self):
        told = {span for span in code(re.search(r"^Headers: (.*?)\n\Z", text(MESSAGES), re.M | re.S)[1])}
        schemas = contract.DOCUMENT["components"]["schemas"]
        described = set(schemas["Headers"]["properties"]) | set(schemas["DeadLetterHeaders"]["properties"])
        self.assertEqual(told - described, {"x-redrive-id", "x-redrive-count"})
        self.assertEqual(described - told, set())


class RequirementsTest(unittest.TestCase):
    """The table of promises: its tests are there, and the JavaScript SDK's codes are those of its sources."""

    PAGE = "docs/requirements.md"
    TEST = r"`(test_\w+\.|\w+Tests: )"
    # The codes of section 5 of the protocol's reference that are offered, as far as apps get them, and one of our own.
    CODES = set("""
        INVALID_PHONE_NUMBER MISSING_PHONE_NUMBER MISSING_SESSION_INFO MISSING_CODE INVALID_SESSION_INFO INVALID_CODE SESSION_EXPIRED
        INVALID_TEMPORARY_PROOF PHONE_NUMBER_EXISTS QUOTA_EXCEEDED TOO_MANY_ATTEMPTS_TRY_LATER OPERATION_NOT_ALLOWED
        MISSING_CLIENT_IDENTIFIER MISSING_APP_CREDENTIAL INVALID_APP_CREDENTIAL MISSING_IOS_APP_TOKEN APP_NOT_VERIFIED
        CAPTCHA_CHECK_FAILED MISSING_RECAPTCHA_TOKEN INVALID_RECAPTCHA_TOKEN INVALID_RECAPTCHA_ACTION RECAPTCHA_NOT_ENABLED
        UNSUPPORTED_FIRST_FACTOR UNVERIFIED_EMAIL SECOND_FACTOR_EXISTS SECOND_FACTOR_LIMIT_EXCEEDED MFA_ENROLLMENT_NOT_FOUND
        MISSING_MFA_PENDING_CREDENTIAL INVALID_MFA_PENDING_CREDENTIAL MISSING_MFA_ENROLLMENT_ID
        INVALID_IDP_RESPONSE MISSING_OR_INVALID_NONCE INVALID_CREDENTIAL_OR_PROVIDER_ID INVALID_PENDING_TOKEN MISSING_REQUEST_URI
        INVALID_REQUEST_URI FEDERATED_USER_ID_ALREADY_LINKED EMAIL_EXISTS USER_NOT_FOUND UNAUTHORIZED_DOMAIN CONSENT_REQUIRED
        MISSING_ID_TOKEN INVALID_ID_TOKEN TOKEN_EXPIRED USER_DISABLED CREDENTIAL_TOO_OLD_LOGIN_AGAIN
        MISSING_GRANT_TYPE INVALID_GRANT_TYPE MISSING_REFRESH_TOKEN INVALID_REFRESH_TOKEN
        INVALID_EMAIL MISSING_EMAIL MISSING_PASSWORD WEAK_PASSWORD EMAIL_NOT_FOUND INVALID_PASSWORD INVALID_LOGIN_CREDENTIALS
        MISSING_REQ_TYPE MISSING_OOB_CODE INVALID_OOB_CODE EXPIRED_OOB_CODE MISSING_NEW_EMAIL INVALID_CONTINUE_URI
        MISSING_CUSTOM_TOKEN INVALID_CUSTOM_TOKEN CREDENTIAL_MISMATCH
    """.split())
    # Those that administrators get.
    ADMINISTRATION = set("""
        DUPLICATE_LOCAL_ID EMAIL_EXISTS PHONE_NUMBER_EXISTS MISSING_LOCAL_ID USER_NOT_FOUND CLAIMS_TOO_LARGE INVALID_CLAIMS FORBIDDEN_CLAIM
        INVALID_DURATION LOCAL_ID_LIST_EXCEEDS_LIMIT CONFIGURATION_NOT_FOUND INVALID_REQ_TYPE INSUFFICIENT_PERMISSION
    """.split())
    # Those of section 5 that are not offered.
    NEVER = {"ADMIN_ONLY_OPERATION", "PASSWORD_LOGIN_DISABLED", "DUPLICATE_EMAIL"}
    # What the sections of other pages say on row S3.
    WORTH = {
        "accounts.md#recycled-phone-numbers": ["numbers of former customers"],
        "accounts.md#what-to-tell-users-of-phone-sign-in": [
            "their carrier may charge for it", "another way to sign in on the same screen", "Who has the code can sign in",
            "Offer a safer way beside it"],
        "verifying-tokens.md#verifying-id-tokens": ["with the keys of your gateway"],
        "verifying-tokens.md#googles-own-services": ["do not accept these tokens"],
    }

    def rows(self):
        """All rows of the page's tables, without their heads."""
        lines = list(without_blocks(ROOT / self.PAGE))
        heads = {number + more for number, line in enumerate(lines[1:]) if line.startswith("|---") for more in (0, 1)}
        return [[cell.strip() for cell in line[1:-1].split("|")] for number, line in enumerate(lines)
                if line.startswith("|") and number not in heads]

    def test_each_test_that_is_named_is_there(self):
        python, swift = set(), set()
        for path in (ROOT / "Tests" / "Interop").glob("test_*.py"):
            classes = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.ClassDef)]
            python |= {f"{path.stem}.{one.name}.{part.name}" for one in classes for part in one.body
                       if isinstance(part, ast.FunctionDef)}
        for path in (ROOT / "Tests").rglob("*.swift"):
            swift |= {f"{path.stem}: {title}" for title in re.findall(r"\bfunc `([^`]+)`", path.read_text())}
        named = code("\n".join(without_blocks(ROOT / self.PAGE)))
        tests = [span for span in named if re.match(r"test_\w+\.", span)]
        titles = [span for span in named if re.match(r"\w+Tests: ", span)]
        self.assertGreater(min(len(tests) // 10, len(titles)), 10)
        self.assertEqual([span for span in tests if span not in python], [])
        self.assertEqual([span for span in titles if span not in swift], [])

    def test_each_promise_stands_once_with_what_shows_it(self):
        promises = [row for row in self.rows() if re.fullmatch(r"[A-Z]\d+", row[0])]
        self.assertEqual(len(promises), 40)
        self.assertEqual(len({row[0] for row in promises}), len(promises))
        for row in promises:
            self.assertRegex(row[2], self.TEST, row[0])

    def test_the_pages_tell_what_phone_sign_in_is_worth(self):
        [row] = [row for row in self.rows() if row[0] == "S3"]
        self.assertEqual(re.findall(r"\]\(([^)]*)\)", row[2]), list(self.WORTH))
        for target, points in self.WORTH.items():
            page, anchor = target.split("#")
            _, *parts = re.split(r"^#+ (.*)$", "\n".join(without_blocks(ROOT / "docs" / page)), flags=re.M)
            sections = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-"): section
                        for heading, section in zip(parts[::2], parts[1::2])}
            for point in points:
                self.assertIn(point, " ".join(sections[anchor].split()), target)

    def test_each_code_stands_with_what_shows_it(self):
        for head, names in {"| code | over HTTP | JavaScript | Apple |": self.CODES,
                            "| code | over HTTP | firebase-admin |": self.ADMINISTRATION}.items():
            rows = table(self.PAGE, head)
            told = [name for row in rows for name in code(row[0])]
            self.assertEqual((set(told), len(told)), (names, len(names)))
            for row in rows:
                self.assertRegex(row[1], r"`test_\w+\.", f"{row[0]} has no test over HTTP")
        rows = table(self.PAGE, "| HTTP | answer | over HTTP |")
        self.assertEqual([row[0] for row in rows], ["400", "400", "403", "401", "404", "501", "503"])
        for row in rows:
            self.assertRegex(row[2], r"`test_\w+\.", row[1])
        told = text(self.PAGE).split("further codes that no call answers with:")[1].split("\n\n")[0]
        self.assertEqual(set(re.findall(r"\w+_\w+", told)) - self.CODES, self.NEVER)

    def test_the_sdk_makes_of_each_code_what_stands_there(self):
        files, _ = stock_sdk.sources(stock_sdk.wheel())
        words = dict(re.findall(r"(\w+) = '([\w-]+)'", files["@firebase/auth/src/core/errors.ts"]))
        errors = re.findall(r"\[\s*ServerError\.(\w+)\s*\]:\s*AuthErrorCode\.(\w+)", files["@firebase/auth/src/api/errors.ts"])
        self.assertGreater(len(errors), 40)
        known = {name: words[error] for name, error in errors}
        for name, _, error, _ in table(self.PAGE, "| code | over HTTP | JavaScript | Apple |"):
            # As the SDK does with codes that it does not know.
            [name] = code(name)
            self.assertEqual(code(error), [known.get(name, name.lower().replace("_", "-"))], name)

    def test_nothing_speaks_grpc(self):
        named = text("Package.swift") + "".join(path.read_text() for path in files("Sources", "Config") if path.suffix != "")
        self.assertNotRegex(named, re.compile(r"\bimport \w*GRPC|grpc-swift|application/grpc", re.I))


class NumbersTest(unittest.TestCase):
    def test_hostile_messages(self):
        import test_hostile
        page = " ".join(text("docs/operations.md").split())
        self.assertIn(f"sends {test_hostile.MESSAGES if 'COUNTERSIGN_HOSTILE_MESSAGES' not in os.environ else 5000:,} broken", page)
        self.assertIn(f"grows by more than {test_hostile.MAX_GROWTH_MB} MB", page)
        import test_several_hosts
        self.assertIn(f"during {test_several_hosts.JOBS} calls", " ".join(text("docs/jobs.md").split()))

    def test_apps_and_numbers_of_the_stack(self):
        configuration = text("deploy/dev/coordinator.json5") + text("deploy/dev/projects/example.json5")
        page = " ".join(text("docs/operations.md").split())
        apps = set(re.findall(r'"(com\.example\.\w+)": \{', configuration))
        told = re.search(r"The stack has seven apps: (.*?), pages of `localhost`\. In (.*?) two numbers are (.*?)\. In (.*?) one is: (.*?)\. `curl ", page)
        full = lambda text: {span if span.startswith("com") else f"com.example{span}" for span in code(text)}
        self.assertEqual(full(told[1]), apps)
        lines = configuration.splitlines()
        starts = {name: next(number for number, line in enumerate(lines) if f'"{name}": {{' in line) for name in apps}
        numbers = {}
        for number, line in enumerate(lines):
            if found := re.findall(r'"(\+1650555\d{4})": "(\d{6})"', line):
                numbers[max((name for name in apps if starts[name] <= number), key=starts.get)] = dict(found)
        said = {name: dict(re.findall(r"(\+1650555\d{4}) with (?:the code )?(\d{6})", words))
                for names, words in [(told[2], told[3]), (told[4], told[5])] for name in full(names)}
        self.assertEqual(said, numbers)

    def test_the_broker_closes_channels_that_acknowledge_nothing(self):
        said = subprocess.run([os.environ["COUNTERSIGN_TEST_BROKER_CTL"], "rabbitmqctl", "eval",
                               "application:get_env(rabbit, consumer_timeout)."], capture_output=True, text=True, check=True)
        milliseconds = int(re.search(r"\d+", said.stdout)[0])
        self.assertIn(f"closes its channel after {milliseconds // 60_000} minutes (`consumer_timeout`)",
                      " ".join(text("SECURITY.md").split()))


class ExamplesTest(unittest.TestCase):
    def test_the_verification_of_the_page_on_messages(self):
        example = subprocess.run([sys.executable, "-c", block(MESSAGES, "python")], capture_output=True, text=True,
                                 timeout=PATIENCE_SECONDS, env=os.environ)
        self.assertEqual(example.returncode, 0, example.stderr)
        self.assertTrue(example.stdout.startswith("('verification.approved.v1', {"), example.stdout)
        self.assertIn("'+16505553434'", example.stdout)

    def test_the_job_of_the_page_on_messages(self):
        with_connection = pika.BlockingConnection(pika.URLParameters(os.environ["COUNTERSIGN_AMQP_URL"]))
        self.addCleanup(with_connection.close)
        channel = with_connection.channel()
        answers = []
        channel.basic_consume("amq.rabbitmq.reply-to", auto_ack=True,
                              on_message_callback=lambda _channel, _method, properties, body: answers.append(json.loads(body)))
        names = {"json": json, "pika": pika, "time": time, "uuid": uuid, "channel": channel}
        exec(compile(block(MESSAGES, "python", 1), MESSAGES, "exec"), names)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not answers and time.monotonic() < deadline:
            with_connection.process_data_events(time_limit=1)
        self.assertEqual([answer["outcome"] for answer in answers], ["accepted"], answers)
        self.assertIn("Hello from Python", [message["body"] for message in simulator.messages("+14155550123")])

    def test_the_checks_of_signatures_of_the_page_on_webhooks(self):
        key, body, now = os.urandom(32), '{"type":"verification.sent"}', int(time.time())

        def headers(sent_at=now, **changed):
            digest = hmac.digest(key, f"msg_1.{sent_at}.{body}".encode(), hashlib.sha256)
            signed = {"id": "msg_1", "timestamp": str(sent_at), "signature": "v1," + base64.b64encode(digest).decode()}
            return {f"webhook-{name}": value for name, value in (signed | changed).items() if value is not None}

        good = headers()["webhook-signature"]
        genuine = [headers(), headers(signature=f"v1,AAAA v2,x {good}")]
        forged = [headers(now - 301), headers(now + 310), headers("x"), headers(""), headers("9" * 400), headers(id="msg_2"),
                  headers(signature="v2" + good[2:]), headers(signature=""), headers(signature="v1,\u00e4"), {},
                  *[headers(**{name: None}) for name in ["id", "timestamp", "signature"]]]
        secret = "whsec_" + base64.b64encode(key).decode()
        names = {}
        exec(compile(block(WEBHOOKS, "python"), WEBHOOKS, "exec"), names)
        python = [names["is_genuine"](secret, given, body.encode()) for given in genuine + forged]
        with tempfile.TemporaryDirectory() as directory:
            script = Path(directory) / "sample.mjs"
            script.write_text(block(WEBHOOKS, "js") + """
import { readFileSync } from "node:fs";
const [secret, body, given] = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify(given.map((headers) => isGenuine(secret, headers, Buffer.from(body)))));
""")
            said = subprocess.run(["node", script], input=json.dumps([secret, body, genuine + forged]), capture_output=True,
                                  text=True, timeout=PATIENCE_SECONDS)
        self.assertEqual(said.returncode, 0, said.stderr)
        expected = [True] * len(genuine) + [False] * len(forged)
        self.assertEqual([python, json.loads(said.stdout)], [expected, expected])

    def test_the_commands_of_the_readme(self):
        lines = [line[2:].split("#")[0] for line in block("README.md", "console").splitlines() if line.startswith("$ ")]
        start = next(line for line in lines if line.startswith("countersign verify start"))
        # A number of its own: this one is asked about by every test that follows the README.
        number = f"+49171{uuid.uuid4().int % 10_000_000:07d}"
        said = self.run_command(start.replace("+14155550123", number))
        told = {line.split("  ")[0].strip() for line in block("README.md", "console").splitlines() if re.match(r"[a-z ]+  ", line, re.I)}
        self.assertEqual({line.split("  ")[0].strip() for line in said.splitlines() if "  " in line}, told)
        verification = re.search(r"verification ID\s+(\S+)", said)[1]
        body = simulator.message(number)["body"]
        told = re.search(r'"body":"(.*?)"', block("README.md", "console"))[1].replace("\\n", "\n")
        self.assertEqual(re.sub(r"\d{6}", "000000", body), re.sub(r"\d{6}", "000000", told))
        said = self.run_command(f"countersign verify check {verification} {body[:6]}")
        self.assertRegex(said, rf"^approved: {re.escape(number)} for com\.example\.app at \S+Z\n$")
        said = self.run_command(f"countersign verify status {verification}")
        self.assertTrue(said.startswith(f"approved: {number} for com.example.app"), said)
        self.assertLessEqual({"coordinator", "sms-worker"}, set(said.split()))

    def run_command(self, line):
        done = subprocess.run(line.split(), capture_output=True, text=True, timeout=PATIENCE_SECONDS)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout
