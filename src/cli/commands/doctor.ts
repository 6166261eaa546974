import { setTimeout as sleep } from 'node:timers/promises'
import { choice, type Flag, text, toggle, UsageError, type Values } from '../../configuration/flags.ts'
import { JUDGING_FLAGS } from '../../configuration/judging.ts'
import { WEBHOOK_NAME } from '../../registration/index.ts'
import { type Command, defineCommand, type Invocation } from '../define-command.ts'
import { INSTALLATION_FLAGS } from '../input/cluster-flags.ts'
import { type Diagnosis, examine, examineProbe } from './doctor/examine.ts'
import type { DoctorFinding, Level, CheckedInstallation } from './doctor/findings.ts'
import type { Opened } from '../input/live/index.ts'
import { counted, EXIT } from '../output/report.ts'
import { json, visible } from '../output/visible.ts'
import { errorMessage } from '../../rule/index.ts'

const seconds: Flag<number> = {
  help: 'repeat the checks until all is well, at most this long',
  argument: 'SECONDS',
  fallback: 0,
  read: (written) => {
    if (!/^\d{1,5}$/.test(written)) throw new Error(`'${written}' is not a whole number of seconds`)
    return Number(written)
  },
}

const FLAGS = {
  output: choice('format of the output', ['human', 'json'], 'human'),
  ...INSTALLATION_FLAGS,
  service: text('Service by which the API server reaches the webhook', 'NAME', WEBHOOK_NAME),
  'api-group': JUDGING_FLAGS['api-group'],
  'probe-only': toggle(
    'check only whether the API server reaches the webhook: the rights to create MCPExternalAuthConfigs and to read Deployments in the namespace suffice',
  ),
  notes: toggle('print the notes too, which need nothing to be done'),
  rules: toggle('print the rules of each layer'),
  wait: seconds,
}

type DoctorFlags = Values<typeof FLAGS>

interface Times {
  /** Milliseconds between two examinations with --wait. */
  readonly pause: number
  /** Milliseconds between two reads of the leader's Lease, which show whether the leader renews it. */
  readonly lease: number
}

export const doctorWith = (times: Times): Command =>
  defineCommand({
    name: 'doctor',
    summary: 'find problems of an installation of the webhook',
    arguments: [['[flags]']],
    flags: FLAGS,
    examples: ['--wait 120'],
    exitCodes: { 0: 'all is well', 1: 'a problem', 3: 'something could not be checked' },
    run: (invocation) => printDiagnosis(invocation, times),
  })

/** Waits seven seconds for the renewal of the Lease, because its holder renews it every five seconds. */
export const doctor = doctorWith({ pause: 2_000, lease: 7_000 })

async function printDiagnosis(
  { flags, names, environment }: Invocation<typeof FLAGS>,
  times: Times,
): Promise<number> {
  if (names.length > 0) throw new UsageError('doctor takes no files; --namespace names the installation')
  const { kubeconfig, namespace, service, 'api-group': group, output, wait } = flags
  const live = await import('../input/live/index.ts')
  const until = performance.now() + wait * 1_000
  let opened: Opened
  try {
    opened = await live.openInstallation({ kubeconfig, group }, namespace, environment)
  } catch (error) {
    const message = errorMessage(error)
    process.stderr.write(`${visible(`vmcp-admission: cannot open the cluster: ${message}`)}\n`)
    if (output === 'json') process.stdout.write(printJson(clusterNotOpened(message), flags, { server: null }))
    return EXIT.unread
  }
  try {
    const now = () => Date.now() - (opened.clockOffset() ?? 0)
    const place = { opened, group, namespace, service, now, leaseWaitMs: times.lease }
    for (;;) {
      const diagnosis = await examineIfAnswering(place, live.isRefusal, flags['probe-only'])
      if (exitCode(diagnosis) === EXIT.clean || performance.now() >= until) {
        process.stdout.write(
          output === 'json' ? printJson(diagnosis, flags, opened) : printHuman(diagnosis, flags, opened),
        )
        return exitCode(diagnosis)
      }
      await sleep(times.pause)
    }
  } finally {
    opened.close()
  }
}

/** Examines the installation, if the API server answers. */
async function examineIfAnswering(
  place: CheckedInstallation,
  isRefusal: (error: unknown) => boolean,
  isProbeOnly: boolean,
): Promise<Diagnosis> {
  try {
    await place.opened.installation.readService(place.service)
  } catch (error) {
    const message = errorMessage(error)
    // After 401 all further requests would fail too. Any other refusal, such as 403, allows further checks.
    if (!isRefusal(error) || message.startsWith('401 ')) return apiServerUnreachable(message)
  }
  return isProbeOnly ? examineProbe(place) : examine(place)
}

function apiServerUnreachable(message: string): Diagnosis {
  return message.startsWith('401 ')
    ? notChecked('not-authenticated', `does not accept the credentials: ${message}`)
    : notChecked('api-server-unreachable', `does not answer: ${message}`)
}

const clusterNotOpened = (message: string): Diagnosis => notChecked('no-cluster', message)

function notChecked(id: string, message: string): Diagnosis {
  const remedy = /certificate (has expired|is not yet valid)/.test(message)
    ? `the clock of this machine says ${new Date().toISOString()}: set it if it is wrong, or renew the certificate of the API server`
    : 'check the kubeconfig (--kubeconfig FILE) with: kubectl version'
  const finding: DoctorFinding = { level: 'unread', id, object: 'API server', message, remedy }
  return { findings: [finding], certificates: [], probe: { outcome: 'not known', answer: message } }
}

const count = ({ findings }: Diagnosis, level: Level) =>
  findings.filter((finding) => finding.level === level).length

function exitCode(diagnosis: Diagnosis): number {
  if (count(diagnosis, 'unread') > 0) return EXIT.unread
  return count(diagnosis, 'problem') > 0 ? EXIT.findings : EXIT.clean
}

const PREFIXES: Readonly<Record<Level, string>> = {
  problem: 'problem: ',
  note: 'note: ',
  unread: 'not checked: ',
}
const ORDER: readonly Level[] = ['unread', 'problem', 'note']

function printHuman(
  diagnosis: Diagnosis,
  { namespace, notes, rules }: DoctorFlags,
  { server }: Pick<Opened, 'server'>,
): string {
  const { findings, certificates, probe, release, trial, layers = [] } = diagnosis
  const shown = notes ? ORDER : ORDER.filter((level) => level !== 'note')
  const sorted = shown.flatMap((level) => findings.filter((finding) => finding.level === level))
  const folded = findings.filter(({ level }) => level === 'note' && !notes).map(({ id }) => id)
  const lines = [
    summary(diagnosis, `${trial ?? `installation in namespace ${namespace}`} of ${server}`),
    '',
    ...sorted.map(
      ({ level, object, message, remedy }) =>
        `${PREFIXES[level]}${object}: ${message}${remedy === '' ? '' : `; ${remedy}`}`,
    ),
    ...(folded.length === 0
      ? []
      : [
          `${counted(folded.length, 'note')} (${[...new Set(folded)].join(', ')}): --notes prints ${folded.length === 1 ? 'it' : 'them'}`,
        ]),
    ...certificates.map(
      ({ of, fingerprint, expires }) => `certificate: ${of}: SHA-256 ${fingerprint}, expires ${expires}`,
    ),
    ...(release === undefined ? [] : [`operator release: ${release}`]),
    `probe: ${probe.outcome}${probe.outcome === 'reached' || trial !== undefined ? `: ${probe.answer}` : ''}`,
    ...(layers.length === 0 ? [] : ['rules that are held now (--rules lists them):']),
    ...layers.flatMap(({ layer, does, ids }) => [
      `  ${layer.padEnd(10)}  ${counted(ids.length, 'rule')}: ${does}`,
      ...(rules ? ids.map((id) => `    ${id}`) : []),
    ]),
  ]
  return `${lines.map(visible).join('\n')}\n`
}

function summary(diagnosis: Diagnosis, scope: string): string {
  const [problems, notes, unread] = (['problem', 'note', 'unread'] as const).map((level) =>
    count(diagnosis, level),
  )
  const parts = [
    ...(problems === 0 && unread === 0 ? ['all is well'] : [counted(problems ?? 0, 'problem')]),
    ...(notes === 0 ? [] : [counted(notes ?? 0, 'note')]),
    ...(unread === 0 ? [] : [`${unread} not checked`]),
  ]
  return `${scope}: ${parts.join(', ')}`
}

function printJson(
  diagnosis: Diagnosis,
  { namespace }: DoctorFlags,
  { server }: { readonly server: string | null },
): string {
  const { findings, certificates, probe, release = null, trial = null, layers = [] } = diagnosis
  const counts = {
    problems: count(diagnosis, 'problem'),
    notes: count(diagnosis, 'note'),
    unread: count(diagnosis, 'unread'),
  }
  return json({
    version: 1,
    server,
    namespace,
    findings,
    certificates,
    probe,
    release,
    trial,
    layers,
    counts,
  })
}
