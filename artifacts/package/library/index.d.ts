/** Options of {@link judge}. */
export interface JudgeOptions {
    /**
     * Resources that are there already, of any kind, such as those of the cluster. The judged ones are applied beside them, in
     * the place of those with the same name; an error that the replaced one has too is a warning (`stored before: …`).
     */
    readonly others?: readonly unknown[];
    /** The release of the operator that the resources are for. Without it the specification judges alone. */
    readonly release?: Release | undefined;
    /** The severities to begin with. `strict` makes errors of warnings that are wrong for certain; it includes `strict: true`. */
    readonly profile?: 'standard' | 'strict';
    /**
     * Severities by the id of a rule, or by id and path, such as `'schema-pattern:spec.oidc.issuer'`. The last one that applies
     * counts.
     */
    readonly severities?: Readonly<Record<string, 'error' | 'warning' | 'off'>>;
    /** Whether unknown fields are errors, and values with placeholders such as `${REGION}` are judged as they stand. */
    readonly strict?: boolean;
    /** The namespace of resources that name none; `default` when absent. */
    readonly namespace?: string;
    /** The API group of the resources; `toolhive.stacklok.dev` when absent. */
    readonly apiGroup?: string;
}
/** What the API server of a release of the operator accepts. The files of `vmcp-admission/releases/` hold one each. */
export interface Release {
    /** Such as `0.63.0`; empty where it is not known. */
    readonly version: string;
    /** By kind. */
    readonly schemas: Readonly<Record<string, object>>;
}
/** One of the given objects. */
export interface Subject {
    /** Its place in the given list. */
    readonly index: number;
    readonly kind: string;
    readonly namespace: string;
    /** The name, or else `generateName`; empty where there is neither. */
    readonly name: string;
}
/** A place in one of the given objects. */
export interface Place extends Subject {
    /** As Kubernetes writes it: `spec.awsSts.roleMappings[0].matcher`; empty for the object as a whole. */
    readonly path: string;
    /** The same as the keys from the top of the object: `['spec', 'awsSts', 'roleMappings', 0, 'matcher']`. */
    readonly keys: readonly (string | number)[];
}
/** An error, which the webhook denies, or a warning. */
export interface Finding extends Place {
    readonly severity: 'error' | 'warning';
    /** The id of the rule, for `severities` and `vmcp-admission explain`. */
    readonly id: string;
    /** The text without the path, and with the id in parentheses at its end. */
    readonly message: string;
}
/** A value that is not judged because a tool fills it in later. */
export interface Placeholder extends Place {
    /** The placeholder as written: `${REGION}`. */
    readonly text: string;
}
/** The documented defaults that an object lacks. */
export interface Defaults extends Subject {
    /** The object with this applied is what the mutating webhook would store. */
    readonly patch: readonly PatchOperation[];
}
/** An operation of a JSON Patch (RFC 6902). */
export type PatchOperation = {
    readonly op: 'add';
    readonly path: string;
    readonly value: unknown;
} | {
    readonly op: 'remove';
    readonly path: string;
};
/** The result of {@link judge}. */
export interface Judgement {
    /** In the order of the objects; of each, first the errors, then the warnings, in the order of their paths. */
    readonly findings: readonly Finding[];
    readonly defaults: readonly Defaults[];
    readonly placeholders: readonly Placeholder[];
}
/**
 * Judges objects that are read from YAML or JSON, beside each other. Objects of kinds that are not of vMCP are not judged;
 * Secrets and ConfigMaps among them are seen by the rules of others.
 *
 * @throws TypeError when an option is wrong. Objects of any content never make it throw.
 */
export declare function judge(objects: readonly unknown[], options?: JudgeOptions): Judgement;
/**
 * The release of CustomResourceDefinitions (`apiextensions.k8s.io/v1`), such as those of a cluster; undefined when none of
 * them is of the operator. Objects of other kinds are ignored.
 */
export declare function releaseOfCrds(crds: readonly unknown[], apiGroup?: string): Release | undefined;
