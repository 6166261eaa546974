import { KINDS } from '../../../kinds/index.ts'
import { REPORTS_LEASE, WEBHOOK_NAME } from '../../../registration/index.ts'
import { OPEN_REPORTS, POLICY_REPORTS } from '../../../reports/index.ts'
import type { Opened } from '../../input/live/index.ts'
import { Findings, type CheckedInstallation } from './findings.ts'
import { CA_SECRET, type Setup } from './setup.ts'

type Right = Parameters<Opened['installation']['mayDo']>[1]

interface Needed extends Omit<Right, 'verb'> {
  readonly verbs: readonly string[]
}

/** Asks the API server whether the service account of a Deployment has all permissions that it needs. */
export async function checkRights(setup: Setup, place: CheckedInstallation): Promise<Findings> {
  const findings = new Findings()
  const { opened, namespace } = place
  const object = `ServiceAccount ${namespace}/${setup.account}`
  const lacking = new Map<string, string[]>()
  // Asks about one resource after another, so that an error, such as a lack of permission, is reported only once.
  for (const { verbs, ...right } of neededRights(setup, place)) {
    try {
      const allowed = await Promise.all(
        verbs.map((verb) => opened.installation.mayDo(setup.account, { ...right, verb })),
      )
      const missing = verbs.filter((_, i) => allowed[i] === false)
      if (missing.length > 0) add(lacking, scopeOf(right), `${missing.join(', ')} ${nameOf(right)}`)
    } catch (error) {
      findings.unread(`rights of ${object}`, error)
      break
    }
  }
  for (const [scope, rights] of lacking)
    findings.problem(
      'right-missing',
      object,
      `may not ${rights.join(', nor ')} ${scope}`,
      'install the roles and bindings of this version of the chart',
    )
  return findings
}

const add = (map: Map<string, string[]>, key: string, value: string) =>
  map.set(key, [...(map.get(key) ?? []), value])

const scopeOf = ({ namespace }: Omit<Right, 'verb'>) =>
  namespace === '' ? 'in the cluster' : `in namespace ${namespace}`

const nameOf = ({ resource, group, name }: Omit<Right, 'verb'>) =>
  `${resource}${group === '' ? '' : `.${group}`}${name === '' ? '' : ` ${name}`}`

function neededRights(setup: Setup, { group, namespace }: CheckedInstallation): Needed[] {
  const admission = 'admissionregistration.k8s.io'
  const configurations = ['validatingwebhookconfigurations', 'mutatingwebhookconfigurations']
  const places = setup.watched.length === 0 ? [''] : setup.watched
  const looks = setup.arming !== 'off'
  const writes = setup.role !== 'webhook'
  const answers = setup.role !== 'leader'
  const cluster = { group: admission, namespace: '' }
  const leases = { group: 'coordination.k8s.io', resource: 'leases', namespace }
  const secrets = { group: '', resource: 'secrets', namespace }
  return [
    ...(looks
      ? configurations.map((resource) => ({
          ...cluster,
          resource,
          name: WEBHOOK_NAME,
          // `create` is needed for this name, because the server-side apply creates the object if it does not exist.
          verbs: writes ? ['get', 'watch', 'create', 'patch'] : ['get', 'watch'],
        }))
      : []),
    ...(looks && writes
      ? [
          { ...leases, name: WEBHOOK_NAME, verbs: ['get', 'patch'] },
          { ...leases, name: '', verbs: ['create'] },
          { group, resource: 'mcpexternalauthconfigs', namespace, name: '', verbs: ['create'] },
        ]
      : []),
    ...(looks && writes && setup.owner !== ''
      ? [
          {
            group: 'rbac.authorization.k8s.io',
            resource: 'clusterroles',
            namespace: '',
            name: setup.owner,
            verbs: ['get'],
          },
        ]
      : []),
    ...(setup.certificates === 'self-managed'
      ? [
          { ...secrets, name: CA_SECRET, verbs: writes ? ['get', 'patch'] : ['get'] },
          ...(writes ? [{ ...secrets, name: '', verbs: ['create'] }] : []),
        ]
      : []),
    ...(answers && setup.keepsReports
      ? [
          { ...leases, name: REPORTS_LEASE, verbs: ['get', 'patch'] },
          { ...leases, name: '', verbs: ['create'] },
        ]
      : []),
    ...(answers && setup.followsRelease
      ? KINDS.map(({ plural }) => ({
          group: 'apiextensions.k8s.io',
          resource: 'customresourcedefinitions',
          namespace: '',
          name: `${plural}.${group}`,
          verbs: ['get'],
        }))
      : []),
    ...(answers ? places : []).flatMap((each) => [
      ...KINDS.map(({ plural }) => ({
        group,
        resource: plural,
        namespace: each,
        name: '',
        verbs: ['get', 'list', 'watch'],
      })),
      ...(setup.checkSecrets
        ? [{ group: '', resource: 'secrets', namespace: each, name: '', verbs: ['get'] }]
        : []),
      ...(setup.checkConfigMaps
        ? [{ group: '', resource: 'configmaps', namespace: each, name: '', verbs: ['get'] }]
        : []),
      ...(setup.keepsReports
        ? [OPEN_REPORTS, POLICY_REPORTS].map(({ group: reports, plural }) => ({
            group: reports,
            resource: plural,
            namespace: each,
            name: '',
            verbs: ['list', 'create', 'patch', 'delete'],
          }))
        : []),
    ]),
  ]
}
