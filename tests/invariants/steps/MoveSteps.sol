// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {LeaseRequest, MachineView, Offer} from "../../../contracts/interfaces/PoolTypes.sol";
import {skip, vm} from "../Cheats.sol";
import {Steps} from "./Steps.sol";

/// @notice Offers, and leases that change their size, their machine or their tenant.
abstract contract MoveSteps is Steps {
    uint256 private _nonces;
    bytes internal _takenOffer; // the last `openWithOffer` that went through, and who made it
    address internal _takenBy;
    bytes internal _acceptance; // the last `transferLease` that went through

    /// @dev An offer of the machine's provider, at any price, taken by whom it names or by anyone.
    function takeOffer(uint256 seed, uint256 wish) external {
        seed = _mix(seed);
        wish = _mix(wish);
        _prepare(_inService(wish), wish >> 56);
        LeaseRequest memory r = _request(seed, wish);
        address tenant = _person(seed);
        (r.spot, r.reuse) = (seed >> 60 & 1 == 0, 0);
        Offer memory offer = Offer({
            account: _provider(r.machine),
            machine: r.machine,
            revision: r.revision,
            price: uint80(1 + seed % unit),
            cells: r.share,
            duration: r.duration + uint32(seed % 1 hours),
            spot: r.spot,
            tenant: seed >> 61 & 1 == 0 ? tenant : address(0),
            nonce: _nonces++,
            expiresAt: uint64(vm.getBlockTimestamp())
        });
        bytes memory proof = _proof(_provider(r.machine), pool.offerDigest(offer), seed);
        bytes memory call = abi.encodeCall(pool.openWithOffer, (r, offer, proof));
        if (!_do(tenant, call, seed >> 8)) return;
        (_takenOffer, _takenBy) = (call, tenant);
        _tryElsewhere(r, offer, tenant, seed);
        if (seed >> 62 & 1 == 0) _start(leaseIds[leaseIds.length - 1], 1);
    }

    /// @dev An offer signed for this pool opens nothing in the other one, nor with a price that is not its own.
    function _tryElsewhere(LeaseRequest memory r, Offer memory offer, address tenant, uint256 seed) private {
        offer.nonce = _nonces++;
        bytes memory proof = _proof(_provider(r.machine), other.offerDigest(offer), seed);
        _expect(!_open(r, offer, proof, tenant), 10, "an offer signed for another pool worked");
        proof = _proof(_provider(r.machine), pool.offerDigest(offer), seed);
        offer.price -= 1;
        _expect(!_open(r, offer, proof, tenant), 10, "an offer worked at another price than was signed");
        offer.price += 1;
        vm.chainId(block.chainid + 1);
        _expect(!_open(r, offer, proof, tenant), 10, "an offer worked on another chain");
        vm.chainId(block.chainid - 1);
        offer.expiresAt -= 1;
        proof = _proof(_provider(r.machine), pool.offerDigest(offer), seed);
        _expect(!_open(r, offer, proof, tenant), 10, "an offer worked after its deadline");
    }

    function _open(LeaseRequest memory r, Offer memory offer, bytes memory proof, address tenant)
        private
        returns (bool ok)
    {
        vm.prank(tenant);
        (ok,) = address(pool).call(abi.encodeCall(pool.openWithOffer, (r, offer, proof)));
    }

    /// @dev The last offer once more, when its lease has ended and its cells are free.
    function retakeOffer(uint256 seed) external {
        seed = _mix(seed);
        if (_takenOffer.length == 0) return;
        uint256 id = leaseIds[leaseIds.length - 1];
        _do(_leases[id].tenant, abi.encodeCall(pool.close, (id)), 1);
        vm.prank(_takenBy);
        (bool ok,) = address(pool).call(_takenOffer);
        _expect(!ok, 10, "an offer worked twice");
    }

    function cancelOffers(uint256 seed) external {
        seed = _mix(seed);
        address provider = _person(seed);
        if (!_do(provider, abi.encodeCall(pool.cancelOffers, (seed % 8, seed)), seed >> 8)) return;
        _expect(pool.offersOf(provider, seed % 8) & seed == seed, 10, "an offer is good that was cancelled");
    }

    /// @dev Two times of three when its trial is over.
    function resize(uint256 seed, uint256 wish) external {
        seed = _mix(seed);
        wish = _mix(wish);
        uint256 id = _running(seed);
        if (seed >> 200 & 3 != 0) skip(_min(15 minutes, _runs(id) ? _leases[id].end - vm.getBlockTimestamp() - 1 : 0));
        uint8[5] memory shares = [1, 2, 4, 8, 16];
        uint8 share = shares[wish % 5];
        uint16 placement;
        if (wish >> 8 & 1 == 0) {
            placement = _placement(wish >> 16, _machines[_leases[id].machine].gpus);
            share = uint8(cellsOf(placement));
        }
        _do(_leases[id].tenant, abi.encodeCall(pool.resize, (id, share, placement)), seed >> 8);
    }

    /// @dev A lease with a standby, an outage, and whoever passes by.
    function failover(uint256 seed, uint256 wish) external {
        seed = _mix(seed);
        wish = _mix(wish);
        _prepare(_inService(wish), 1);
        _prepare(_inService(wish >> 50), 1);
        LeaseRequest memory r = _request(seed, wish);
        (r.reuse, r.backup) = (0, _backup(wish >> 50, r.workload));
        if (!_do(_person(seed), abi.encodeCall(pool.open, (r)), 1)) return;
        uint256 id = leaseIds[leaseIds.length - 1];
        if (!_start(id, 1)) return;
        skip(seed % (r.duration / 2 + 1));
        if (_machines[r.machine].downSince == 0) {
            _doOn(address(faults), _operator(r.machine), abi.encodeCall(faults.reportOutage, (r.machine)), seed);
        }
        skip(seed % (r.duration / 4 + 1));
        _failOver(id, r.backup, seed);
    }

    function _failOver(uint256 id, bytes32 backup, uint256 seed) private {
        LeaseRequest memory b = _backups[backup];
        bytes memory call = abi.encodeCall(pool.failover, (id, b.machine, b.revision, b.placement, b.workload));
        _failingOver = _machines[_leases[id].machine].downSince != 0;
        _do(_person(seed >> 9), call, seed >> 8);
        _failingOver = false;
    }

    /// @dev Someone gives a lease to another who has agreed; nobody can agree for him, nor use his word again.
    function transferLease(uint256 seed) external {
        seed = _mix(seed);
        uint256 id = seed & 1 == 0 ? _running(seed >> 1) : _waiting(seed >> 1);
        address from = _leases[id].tenant;
        address to = _person(seed >> 16);
        uint256 deadline = vm.getBlockTimestamp() + seed % 2;
        bytes memory proof = _proof(to, accounts.acceptTransferDigest(to, address(pool), id, deadline), seed);
        bytes memory call = abi.encodeCall(pool.transferLease, (id, to, deadline, proof));
        _expect(
            !_give(from, abi.encodeCall(pool.transferLease, (id, thief, deadline, proof))), 10, "a word for another"
        );
        _expect(!_give(from, abi.encodeCall(pool.transferLease, (id, to, deadline + 1, proof))), 10, "a later word");
        if (!_do(from, call, seed >> 8)) return;
        _expect(!_give(to, call), 10, "a lease was accepted twice with one word");
    }

    function _give(address from, bytes memory call) private returns (bool ok) {
        if (from == address(0)) return false;
        vm.prank(from);
        (ok,) = address(pool).call(call);
    }
}
