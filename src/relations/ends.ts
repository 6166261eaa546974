/** Helpers of rules that make the `related` places of a finding: places in other objects that explain the finding. */

import {
  aboutEach,
  type Cluster,
  end,
  type FieldError,
  type ObjectName,
  type Path,
  pathTo,
  type Related,
  relatedTo,
  type ErrorSubject,
} from '../rule/index.ts'
import { referencesOf } from './references.ts'
import type { AuthConfig, Gateway, OidcConfig, Workload } from './related-resources.ts'

/** Empty paths, from which rules build a path in an object of the kind, such as `AUTH_CONFIG.spec.type`. */
export const AUTH_CONFIG = pathTo<AuthConfig>([])
export const GATEWAY = pathTo<Gateway>([])
export const OIDC_CONFIG = pathTo<OidcConfig>([])
export const WORKLOAD = pathTo<Workload>([])
export const NAME: Path<unknown> = pathTo(['metadata', 'name'])

/** The most objects in which related places are searched: an error has at most four related places. */
const MOST = 4

/** The places where the named objects refer to the object `to`; for an object without a reference, `metadata.name`. */
export function referenceEnds(
  names: readonly ObjectName[],
  to: ObjectName,
  cluster: Cluster,
  text = 'refers to it',
): Related[] {
  return names.slice(0, MOST).map((object) => {
    const references = referencesOf(object.kind, cluster.get(object.kind, object.name) ?? {}, to.kind)
    const found = references.find((reference) => reference.to.name === to.name)
    return end(object, found === undefined ? NAME : pathTo(found.at()), text)
  })
}

/** A `related` place of a finding: the existing object whose name is similar to the name that was not found. */
export const nearEnds = (kind: string, near: string | undefined): Related[] =>
  near === undefined ? [] : [end({ kind, name: near }, NAME, 'has a similar name')]

/** Adds to a VirtualMCPServer's finding, as related places, the backends that it contacts without credentials. */
export const withoutCredentials = (
  id: string,
  finding: FieldError,
  members: readonly ObjectName[],
): FieldError =>
  relatedTo(
    aboutEach(finding, () => members.map(({ kind, name }) => [id, kind, name] as const)),
    members.slice(0, 3).map((member) => end(member, NAME, 'gets no credentials')),
    () => members.map(withoutCredentialsCause),
  )

/** Adds to a workload's finding, as related places, the VirtualMCPServers that contact it without credentials. */
export const contactedWithout = (
  id: string,
  finding: FieldError,
  { workload, gateways, text }: { workload: ObjectName; gateways: readonly ObjectName[]; text: string },
): FieldError =>
  relatedTo(
    aboutEach(finding, () => gateways.map(({ name }) => [id, name] as const)),
    gateways.map((gateway) => end(gateway, GATEWAY.spec.outgoingAuth, text)),
    () => [withoutCredentialsCause(workload)],
  )

/** Adds to a finding at an MCPExternalAuthConfig, as related places, the workloads (`holders`) that name it. */
export const ofHolders = (
  finding: FieldError,
  {
    holders,
    at,
    text,
    cause,
  }: { holders: readonly ObjectName[]; at: Path<unknown>; text: string; cause: ErrorSubject },
): FieldError =>
  relatedTo(
    aboutEach(finding, () => holders.map(({ kind, name }) => [...cause, kind, name] as const)),
    holders.slice(0, MOST).map((holder) => end(holder, at, text)),
    () => [cause],
  )

/** The cause that a workload is contacted without credentials: findings with the same cause are grouped. */
const withoutCredentialsCause = ({ kind, name }: ObjectName): ErrorSubject => ['no credentials', kind, name]
