pragma circom 2.1.0;

// Knowledge of the two factors of a public product, bound to a holder and to a subject.
// Public signals in the order of snarkjs: holder, subject, product.
template Bound() {
    signal input holder;
    signal input subject;
    signal input product;
    signal input left;
    signal input right;

    left * right === product;
    // A square keeps each public signal in a constraint of its own.
    signal holderSquared <== holder * holder;
    signal subjectSquared <== subject * subject;
}

component main {public [holder, subject, product]} = Bound();
