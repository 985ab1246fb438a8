"""Values of circuits and attestations in the examples of the OpenAPI document."""

from typing import Any

_POINT = ["1", "2", "1"]
_TWICE = [
    "1368015179489954701390400359078579693043519447331113978918064868415326638035",
    "9918110051302171585080402603319702774565515993150576347155970296011118125764",
    "1",
]
_THRICE = [
    "3353031288059533942658390886683067124040920775575537747144343083137631628272",
    "19321533766552368860946552437480515441416830039777911637913418824951667761761",
    "1",
]
_SECOND = [
    [
        "10857046999023057135944570762232829481370756359578518086990519993285655852781",
        "11559732032986387107991004021392285783925812861821192530917403151452391805634",
    ],
    [
        "8495653923123431417604973247489272438418190587263600148770280649306958101930",
        "4082367875863433681332203403145435568316851327593401208105741076214120093531",
    ],
    ["1", "0"],
]
_SECOND_TWICE = [
    [
        "18029695676650738226693292988307914797657423701064905010927197838374790804409",
        "14583779054894525174450323658765874724019480979794335525732096752006891875705",
    ],
    [
        "2140229616977736810657479771656733941598412651537078903776637920509952744750",
        "11474861747383700316476719153975578001603231366361248090558603872215261634898",
    ],
    ["1", "0"],
]
_INPUTS = ["17195486273945874211312387345643287234187346128734618273461827346128734618273", "15"]
_KEY = {
    "protocol": "groth16",
    "curve": "bn128",
    "nPublic": 2,
    "vk_alpha_1": _POINT,
    "vk_beta_2": _SECOND,
    "vk_gamma_2": _SECOND,
    "vk_delta_2": _SECOND_TWICE,
    "IC": [_POINT, _TWICE, _THRICE],
}
_PROOF = {
    "pi_a": _POINT,
    "pi_b": _SECOND,
    "pi_c": _TWICE,
    "protocol": "groth16",
    "curve": "bn128",
}

PROOFS: dict[str, Any] = {
    "VerificationKeyIn": _KEY,
    "verification_key": _KEY,
    "ProofIn": _PROOF,
    "proof_data": _PROOF,
    "public_inputs": _INPUTS,
    "circuit_id": "solvency-1",
    "AttestationIn.circuit_id": "delivered-1",
    "CircuitIn.title": "Two factors",
    "CircuitOut.title": "Two factors",
    "CircuitIn.context_input": None,
    "CircuitOut.context_input": None,
    "CircuitOut.holder_input": 0,
    "CircuitOut.retired_at": None,
    "CircuitOut.status": "active",
    "statement": "The holder knows two factors of the value.",
    "source_uri": "https://circuits.example.org/factors.circom",
    "setup_note": "Three contributors; the transcript is beside the source.",
    "ProofAttestationOut.context": None,
    "ProofAttestationOut.status": "verified",
    "ProofAttestationOut.revoked_at": None,
    "AttestationIn.context": None,
    "DisputeOut.slash_reduction": "0",
    "EvidenceIn.attestation_ids": [],
}
